/**
 * Where the page's answers come from: the server of `explore`, or what a page in one file holds.
 * Views ask both in the same way; a page in one file rejects what it cannot answer. Its decisions
 * are held until the user saves them as `plan.jsonl`, for `halfspace dedup --apply`.
 */

import { Codes, estimateAngle, estimateJaccard, scan } from '../../index';
import {
  bytesOf,
  type Card,
  type DecideRequest,
  type GroupAnswer,
  type Held,
  type HeldMap,
  type HeldPlan,
  MAX_CARDS,
  type PlanLine,
  packed,
  type Question,
  type Questions,
  type ReviewAnswer,
  type SearchAnswer,
} from '../messages';
import { Conflict, type PlanColumns, ReviewedPlan } from '../reviewed-plan';

/** What answers the questions of messages.ts. */
export interface Source {
  /** Resolves to the answer; rejects with a sentence for people. */
  ask<Q extends Question>(question: Q, asked: Questions[Q][0]): Promise<Questions[Q][1]>;
  /** Whether the page is one file, without a server. */
  readonly isHeld: boolean;
  /** Saves the plan of a page in one file; null where a server does so. */
  readonly save: (() => void) | null;
}

/** The source of what the page holds; of null, the server that the page came from. */
export function sourceOf(held: Held | null): Source {
  if (held === null) return { ask: askServer, isHeld: false, save: null };
  const review = held.plan && new HeldReview(held.plan, held.about.bits);
  return {
    ask: (...asked) => askHeld(held, review, ...asked),
    isHeld: true,
    save: review && (() => review.save()),
  };
}

/** Asks the server, at an address next to that of the page, which has the token. */
async function askServer<Q extends Question>(
  question: Q,
  asked: Questions[Q][0],
): Promise<Questions[Q][1]> {
  const response = await fetch(`ask/${question}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(asked),
  }).catch(() => {
    throw new Error('no answer: is halfspace explore still running?');
  });
  const answer = await response.json().catch(() => ({ error: `status ${response.status}` }));
  if (response.status === 409) throw new Conflict(answer.error);
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** Answers by what the page holds; rejects questions that need a server, as a text query. */
async function askHeld<Q extends Question>(
  { about, map }: Held,
  review: HeldReview | null,
  question: Q,
  asked: Questions[Q][0],
): Promise<Questions[Q][1]> {
  const cards = map?.cards ?? [];
  // Typed by the table of answers below, which has only the questions that a page can answer.
  const given = asked as never;
  const answers: { [R in Question]?: () => Questions[R][1] | null } = {
    status: () => ({ phase: 'ready', label: '', share: null }),
    about: () => about,
    map: () => map,
    rows: () => rowsHeld(cards, given),
    cards: () => cardsHeld(cards, given),
    search: () => map && searchHeld(map, about, given),
    review: () => review?.answer() ?? null,
    group: () => review?.group((given as Questions['group'][0]).group) ?? null,
    decide: () => review?.decide(given) ?? null,
  };
  const answer = answers[question]?.();
  if (answer === undefined || answer === null) {
    throw new Error('a page in one file cannot do this: halfspace explore can');
  }
  return answer as Questions[Q][1];
}

function cardsHeld(cards: readonly Card[], { rows }: Questions['cards'][0]): readonly Card[] {
  return rows.flatMap((row) => cards.find((card) => card.row === row) ?? []);
}

/** The rows that meet the filter, with the cards of the first of them. */
function rowsHeld(cards: readonly Card[], { filter }: Questions['rows'][0]) {
  const some = cards.filter(meets(filter));
  const matching = filter.trim() === '' ? null : packed(Uint32Array.from(some, (card) => card.row));
  return { total: some.length, matching, cards: some.slice(0, MAX_CARDS) };
}

/** A card meets a filter that its texts contain, in any case: this page does not parse filters. */
function meets(filter: string): (card: Card) => boolean {
  const needle = filter.trim().toLowerCase();
  return ({ id, text, values }) =>
    [id, text ?? '', ...values.map(([, value]) => value)].join(' ').toLowerCase().includes(needle);
}

/**
 * The rows nearest to a row of the page among those that meet the filter, by the distance of their
 * codes; similarities are estimates. The row is found by its number or its id, in any case.
 */
function searchHeld(
  { cards, codes: bytes }: HeldMap,
  { bits, measure }: Held['about'],
  { id, row, k, filter }: Questions['search'][0],
): SearchAnswer {
  const wanted = id?.trim().toLowerCase();
  const at = cards.findIndex((card) =>
    wanted === undefined ? card.row === row : card.id.toLowerCase() === wanted,
  );
  if (at < 0) throw new Error(`no row of this page has the id ${id}`);
  const start = performance.now();
  const codes = Codes.from(bytesOf(bytes), { bits });
  // Of all rows, since the filter and the row itself take out some of the nearest.
  const { rows, distances } = scan(codes, codes.at(at), { k: codes.count });
  const milliseconds = performance.now() - start;
  const similarityOf = (distance: number) =>
    measure === 'cosine'
      ? estimateAngle(distance, bits).estimatedCosine
      : estimateJaccard(distance, bits).estimatedJaccard;
  const hits = Array.from(rows, (other, i) => {
    return { ...cards[other], distance: distances[i], similarity: similarityOf(distances[i]) };
  })
    .filter((hit) => hit.row !== cards[at].row)
    .filter(meets(filter))
    .slice(0, k);
  return { query: cards[at], hits, compared: `${measure} as codes estimate it`, milliseconds };
}

/** Answers the questions of the review by a plan that the page holds. */
export class HeldReview {
  readonly #columns: PlanColumns;
  readonly #reviewed: ReviewedPlan;
  /** Whether something was decided since the plan was saved. */
  #isUnsaved = false;

  constructor(
    private readonly held: HeldPlan,
    bits: number,
  ) {
    this.#columns = columnsOf(held);
    const codes = Codes.from(bytesOf(held.codes), { bits });
    const texts = new Map(held.texts);
    /** By row the position of its line. */
    const lineOf = new Map(held.lines.map(({ row }, at) => [row, at]));
    const at = (row: number) => lineOf.get(row) as number;
    this.#reviewed = new ReviewedPlan(
      this.#columns,
      {
        compare(row, other) {
          // Neither vectors nor sets are held, so the exact similarity is unknown.
          return { distance: codes.distance(at(row), at(other)), similarity: Number.NaN };
        },
        namesOf: (rows) =>
          rows.map((row) => {
            const text = texts.get(row) ?? '';
            // A row without an id is called by its number.
            const id = String(held.lines[at(row)].id ?? `row ${row}`);
            return { id, texts: text === '' ? [] : [['text', text]] };
          }),
      },
      ([first]) => texts.has(first),
    );
    // The browser then asks before it closes the page.
    window.addEventListener('beforeunload', (event) => {
      if (this.#isUnsaved) event.preventDefault();
    });
  }

  /** The state of the plan, with the groups of two rows or more whose texts the page holds. */
  answer(): ReviewAnswer {
    const base = { file: 'plan.jsonl', exists: true, rows: this.held.rows };
    return { ...base, ...this.#reviewed.answer() };
  }

  group(group: number): GroupAnswer {
    return this.#reviewed.group(group);
  }

  decide(asked: DecideRequest): GroupAnswer {
    this.#reviewed.check(asked);
    this.#reviewed.keep(asked.group, asked.after);
    this.#isUnsaved = true;
    return this.group(asked.group);
  }

  /** Downloads the plan as a file, by a link that is clicked. */
  save(): void {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([this.text()], { type: 'application/jsonl' }));
    link.download = 'plan.jsonl';
    link.click();
    this.#isUnsaved = false;
  }

  /**
   * The plan as it is now, as JSON lines: those it had, each with whether it is `reviewed`. Those
   * of groups that the page does not show are unchanged.
   */
  text(): string {
    const { kept, duplicateOf, distances, cosines, jaccards } = this.#columns;
    const lines = this.held.lines.map((line): PlanLine => {
      const { row } = line;
      return {
        ...line,
        action: kept[row] === 1 ? 'keep' : 'drop',
        duplicate_of: duplicateOf[row],
        distance: distances[row],
        // An unknown one is NaN here, and null in JSON.
        ...(cosines !== null && { cosine: cosines[row] }),
        ...(jaccards !== null && { jaccard: jaccards[row] }),
        reviewed: this.#reviewed.reviewed[row] === 1,
      };
    });
    return `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
  }
}

/** Lines as columns by row; a row without a line is a group of its own. */
function columnsOf({ rows, lines }: HeldPlan): PlanColumns {
  const itself = () => Uint32Array.from({ length: rows }, (_, row) => row);
  const exact = (name: 'cosine' | 'jaccard') =>
    lines.some((line) => line[name] !== undefined) ? new Float64Array(rows).fill(1) : null;
  const columns = {
    groups: itself(),
    kept: new Uint8Array(rows).fill(1),
    duplicateOf: itself(),
    distances: new Uint16Array(rows),
    cosines: exact('cosine'),
    jaccards: exact('jaccard'),
    reviewed: new Uint8Array(rows),
  };
  for (const { row, ...line } of lines) {
    columns.groups[row] = line.group;
    columns.kept[row] = Number(line.action === 'keep');
    columns.duplicateOf[row] = line.duplicate_of;
    columns.distances[row] = line.distance;
    columns.reviewed[row] = Number(line.reviewed === true);
    if (columns.cosines) columns.cosines[row] = line.cosine ?? Number.NaN;
    if (columns.jaccards) columns.jaccards[row] = line.jaccard ?? Number.NaN;
  }
  return columns;
}
