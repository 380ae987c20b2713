/**
 * The recall of an index whose parts are made apart, as by tasks of Spark: each part answers the
 * same evaluation queries, and what it finds becomes a table. A merge chooses the setting and
 * measures it by these tables alone, or makes one of them for a further merge. What a search finds
 * does not depend on how rows are spread over segments, so the figures are those of one index,
 * though nothing has read all of its vectors.
 */

import { type LongCall, LongWork } from '../base/long-work';
import { Highest } from '../base/top-k';
import { mostCandidates } from '../index/choice';
import type { Id } from '../index/ids';
import type { RecallReport } from '../index/index-options';
import { EvaluationSource, settled, shuffled, type Wanted } from '../index/optimize';
import { type Query, type QueryParts, queryOf } from '../index/query';
import { type EvaluationSearch, type Measurable, type Visits, visitsOf } from '../index/recall';
import type { Best } from '../index/search';
import type { Space } from '../index/space';
import { type EvaluationQuery, Nearest } from '../index/truth';
import type { DenseVectors } from '../index/vectors/dense-vectors';
import type { VectorStorage } from '../index/vectors/row-vectors';
import { numberType } from '../table/columns/types';
import { openTable, readNumbers, type TableBatch, writeTable } from '../table/sealed/sealed-table';
import type { Vector } from '../vectors/vectors';
import type { Content } from './content';
import { withContent } from './folder-place';
import { neededManifest } from './generations';
import { type FoundRow, findRows } from './id-hashes';
import { StoredEvaluable } from './optimize-stored';
import { TOGETHER } from './stored-index';

/** Evaluation queries, in the same order for all parts, and the ids of the rows that they are. */
export interface EvaluationRows {
  readonly vectors: readonly Vector[];
  readonly ids: readonly Id[];
}

/**
 * A row that may be a true neighbour, whose `score` is its cosine as it was given; or an entry that
 * a search may rank, whose `score` is the cosine that it estimates and `cosine` the exact one of
 * the row as it is held.
 */
interface Line {
  readonly row: number;
  /** The number of partitions that a search for the query visits before. */
  readonly place: number;
  cosine: number;
  readonly score: number;
}

const COLUMNS = [
  { name: 'query', type: 'uint32' },
  { name: 'isNear', type: 'uint8' },
  { name: 'row', type: 'uint32' },
  { name: 'place', type: 'uint16' },
  { name: 'cosine', type: 'float64' },
  { name: 'score', type: 'float64' },
] as const;

type Columns = Readonly<Record<(typeof COLUMNS)[number]['name'], Float64Array>>;

const KIND = 'evaluated';

/** What the rows of a folder answer to evaluation queries, as the bytes of a table. */
export async function evaluatedPart(
  folder: string,
  rows: EvaluationRows,
  { k, memory, ...call }: { k: number; memory: number } & LongCall,
): Promise<Uint8Array> {
  const manifest = await neededManifest(folder);
  const work = new LongWork(call);
  const evaluated = async (content: Content) => {
    const index = new StoredEvaluable(content, memory / 2);
    const found = await findRows(index.stored.reader, rows.ids, call.signal);
    const asked = askedOf(content.parts, rows, found);
    const near = await index.near(asked, k, work);
    const batches: TableBatch[] = [];
    for (let first = 0; first < asked.length; first += TOGETHER) {
      const some = asked.slice(first, first + TOGETHER);
      const answers: PartAnswer[] = [];
      for (const [i, entries] of (await entriesOf(index, some, k, work)).entries()) {
        const nearest = near[first + i].found;
        const rows = Uint32Array.from(nearest, ({ row }) => row);
        const places = await index.placesOf(some[i], rows);
        const lines = nearest.map((one, at) => ({ ...one, place: places[at], cosine: 0 }));
        answers.push({ query: first + i, near: lines, entries });
      }
      batches.push(batchOf(answers));
    }
    const own = asked.map((one) => [...one.own]);
    return writeTable(COLUMNS, { kind: KIND, rows: index.rows, own }, [...batches, batchOf([])]);
  };
  return withContent(folder, manifest, evaluated, call.signal);
}

/** The queries that have a code. */
function askedOf(
  parts: QueryParts,
  { vectors }: EvaluationRows,
  found: readonly (FoundRow | undefined)[],
): EvaluationQuery[] {
  return vectors.flatMap((vector, i) => {
    const query = queryOf(parts, vector);
    const row = found[i]?.row;
    return query === null ? [] : [{ query, own: new Set(row === undefined ? [] : [row]) }];
  });
}

/**
 * For each query the entries that a search of any number of probes may rank. They are found with 1,
 * 2, 4 and so on probes: one that is among the last candidates of numbers between these alone may
 * be missing.
 */
async function entriesOf(
  index: StoredEvaluable,
  asked: readonly EvaluationQuery[],
  k: number,
  work: LongWork,
): Promise<Line[][]> {
  const space = index.space as Space;
  const { partitions } = index.stored;
  const want = mostWanted(space, k);
  const seen = asked.map((): Line[] => []);
  for (const ofCopies of space.parts.hasCopies ? [false, true] : [false]) {
    partitions.copies = ofCopies;
    const byRow = asked.map(() => new Map<number, Line>());
    for (let before = 0, probes = 1; before < space.count; before = probes, probes *= 2) {
      const setting = { probes: Math.min(probes, space.count), want };
      const found = await index.search(asked, { k: 1, setting, isUnranked: true }, work);
      for (const [i, { rows, cosines: scores }] of found.entries()) {
        const { places } = index.visitsOf(asked[i].query);
        const { own, seconds } = await index.partitionsOf(rows);
        for (const [at, row] of rows.entries()) {
          const place = places[(ofCopies ? seconds : own)[at]];
          byRow[i].set(row, { row, place, cosine: 0, score: scores[at] });
        }
      }
    }
    for (const [i, lines] of byRow.entries()) seen[i].push(...lines.values());
  }
  partitions.copies = null;
  const all: Line[][] = [];
  for (const [i, { query }] of asked.entries()) {
    const lines = takeable(seen[i], space.entriesPerRow * want);
    const rows = Uint32Array.from(new Set(lines.map(({ row }) => row)));
    const cosines = await index.cosinesOf(query, rows, work);
    for (const line of lines) line.cosine = cosines.get(line.row) as number;
    all.push(lines);
  }
  return all;
}

/** Most candidates of a search that is measured, among which its own row may be. */
function mostWanted(space: Space, k: number): number {
  return mostCandidates(space, k) + 1;
}

/**
 * The entries that a search for `most` of them may take, the best first: there are not so many
 * better ones in partitions that it visits no later.
 */
function takeable(lines: Line[], most: number): Line[] {
  const places = new Highest(most);
  let [last, bound] = [Number.NaN, 0];
  lines.sort((a, b) => b.score - a.score || a.row - b.row);
  return lines.filter(({ place, row, score }) => {
    // A search takes all entries of its lowest score.
    if (score !== last) [last, bound] = [score, places.bound];
    places.take(-place, row);
    return -place > bound;
  });
}

/** What the rows of a part answer to a query. */
interface PartAnswer {
  readonly query: number;
  readonly near: readonly Line[];
  readonly entries: readonly Line[];
}

function batchOf(answers: readonly PartAnswer[]): TableBatch {
  const count = answers.reduce((sum, { near, entries }) => sum + near.length + entries.length, 0);
  const columns = COLUMNS.map(({ name, type }) => [name, new (numberType(type).Values)(count)]);
  const rows = Object.fromEntries(columns) as Columns;
  let at = 0;
  for (const { query, near, entries } of answers) {
    for (const [i, line] of [...near, ...entries].entries()) {
      rows.query[at] = query;
      rows.isNear[at] = Number(i < near.length);
      for (const name of ['row', 'place', 'cosine', 'score'] as const) rows[name][at] = line[name];
      at++;
    }
  }
  return { count, rows };
}

/** What rows of all parts answer to a query. */
interface Answers extends EvaluationQuery {
  /** Has its own row once the part was added that has it. */
  readonly own: Set<number>;
  readonly near: Nearest;
  readonly places: Map<number, number>;
  /** The best first. */
  entries: Line[];
}

/** What all parts answer to evaluation queries, as one index. */
export class EvaluatedParts implements Measurable {
  readonly canScan = false;
  readonly storage: VectorStorage;
  readonly answers: readonly Answers[];
  rows = 0;
  readonly #byQuery: ReadonlyMap<Query, Answers>;

  constructor(
    readonly space: Space,
    readonly count: number,
    parts: QueryParts,
    rows: EvaluationRows,
    readonly k: number,
  ) {
    const { kind } = parts.dense as DenseVectors;
    this.storage = kind;
    this.answers = askedOf(parts, rows, []).map(({ query }) => {
      return { query, own: new Set(), near: new Nearest(k), places: new Map(), entries: [] };
    });
    this.#byQuery = new Map(this.answers.map((one) => [one.query, one]));
  }

  /** Adds the table of a part. */
  add(bytes: Uint8Array, name: string): void {
    const table = openTable(bytes, name, { kind: KIND });
    const { rows, own } = table.header as unknown as { rows: number; own: number[][] };
    this.rows += rows;
    const columns = COLUMNS.map((column) => [column.name, readNumbers(table, column)]);
    const { query, isNear, ...values } = Object.fromEntries(columns) as Columns;
    for (let i = 0; i < query.length; i++) {
      const answers = this.answers[query[i]];
      const { row, place, cosine, score } = values;
      const line = { row: row[i], place: place[i], cosine: cosine[i], score: score[i] };
      if (isNear[i] === 0) answers.entries.push(line);
      else {
        answers.near.take(line.score, line.row);
        answers.places.set(line.row, line.place);
      }
    }
    const most = this.space.entriesPerRow * mostWanted(this.space, this.k);
    for (const [i, answers] of this.answers.entries()) {
      for (const row of own[i]) answers.own.add(row);
      answers.entries = takeable(answers.entries, most);
    }
  }

  /** The table of a part that has the rows of all. */
  table(): Uint8Array {
    const together = this.answers.map(({ near, places, entries }, query) => {
      const lines = near.found.map((one) => {
        return { ...one, place: places.get(one.row) as number, cosine: 0 };
      });
      return { query, near: lines, entries };
    });
    const own = this.answers.map((one) => [...one.own]);
    return writeTable(COLUMNS, { kind: KIND, rows: this.rows, own }, [batchOf(together)]);
  }

  visitsOf(query: Query): Visits {
    return visitsOf(this.space, query);
  }

  async placesOf({ query }: EvaluationQuery, rows: Uint32Array): Promise<Uint16Array> {
    const answers = this.#byQuery.get(query) as Answers;
    const places = new Map(answers.places);
    for (const { row, place } of answers.entries) {
      places.set(row, Math.min(place, places.get(row) ?? place));
    }
    return Uint16Array.from(rows, (row) => places.get(row) as number);
  }

  async search(asked: readonly EvaluationQuery[], how: EvaluationSearch) {
    const best = ({ query }: EvaluationQuery) =>
      this.#best(this.#byQuery.get(query) as Answers, how);
    return asked.map(best);
  }

  /** What `CosineSearch` finds; it ranks all of its candidates. */
  #best({ query, own, entries }: Answers, how: EvaluationSearch): Best {
    const { count, bytesPerEntry } = this.space;
    const { setting, isUnranked } = how;
    const k = how.k + own.size;
    const most = this.space.entriesPerRow * Math.max(k, setting.want + own.size);
    let lines: Line[] = [];
    const byRow = new Map<number, Line>();
    const { probes: usual, slack } = setting;
    const first = usual === null ? count : this.space.route(query, usual, slack).partitions.length;
    for (let probes = first; ; probes *= 2) {
      lines = entries.filter(({ place }) => place < probes);
      const least = bytesPerEntry > 0 ? lines[most - 1]?.score : undefined;
      if (least !== undefined) lines = lines.filter(({ score }) => score >= least);
      else lines = lines.slice(0, most);
      // Of two entries of a row the better one counts.
      for (const line of lines) if (!byRow.has(line.row)) byRow.set(line.row, line);
      if (byRow.size >= k || probes >= count) break;
      byRow.clear();
    }
    const rows = Uint32Array.from(lines, ({ row }) => row);
    const scores = Float64Array.from(lines, ({ score }) => score);
    if (isUnranked) return { rows, cosines: scores };
    const ranked = [...byRow.values()].sort((a, b) => b.cosine - a.cosine || a.row - b.row);
    const best = ranked.slice(0, k);
    return {
      rows: Uint32Array.from(best, ({ row }) => row),
      cosines: Float64Array.from(best, ({ cosine }) => cosine),
    };
  }
}

/** Chooses a setting by what all parts answer, and measures it. */
export async function reportOfAnswers(
  index: EvaluatedParts,
  wanted: Wanted,
  call: LongCall,
): Promise<RecallReport> {
  const { answers } = index;
  const source = new EvaluationSource(
    { source: 'rows', truth: 'cosine', isTrained: false },
    shuffled([...answers.keys()], wanted.seed),
    answers.length,
    async (some) => Array.from(some, (i) => ({ ...answers[i], truth: answers[i].near.truth })),
  );
  return settled(index, source, wanted, new LongWork(call));
}
