/**
 * The state of the page: one immutable object, which all views read. `Store.change` replaces it and
 * draws the page again. Answers come from the server of `explore`, or from what a page in one file
 * holds: views ask both in the same way, and such a page rejects what it cannot answer.
 */

import {
  type About,
  type Card,
  type DecideRequest,
  type FindAnswer,
  type GroupAnswer,
  type Held,
  MAX_CARDS,
  type MapAnswer,
  type Question,
  type Questions,
  type ReviewAnswer,
  type Status,
} from '../messages';

/** The views of the page; one is shown at a time. */
export type View = 'map' | 'review';

/** What the panel next to the map lists: what was found, or the rows in a lasso. */
export interface Listed extends FindAnswer {
  readonly isLasso: boolean;
}

/** Answers of the server, null until they come, and what the user has chosen and typed. */
interface State {
  readonly view: View;
  readonly about: About | null;
  readonly status: Status;
  /** The message above the view; null for none. */
  readonly error: string | null;

  readonly map: MapAnswer | null;
  readonly query: string;
  /** Ids that contain what is typed, those that begin with it first. */
  readonly suggested: readonly string[];
  readonly filter: string;
  readonly isLasso: boolean;
  /** The cluster whose points alone are shown strongly; null for all. */
  readonly cluster: number | null;
  /** Null until it is answered, and after a question that failed. */
  readonly listed: Listed | null;
  readonly isBusy: boolean;

  readonly review: ReviewAnswer | null;
  /** The index of the group of the plan that is shown. */
  readonly at: number;
  readonly group: GroupAnswer | null;
  /** The member of the group, by its position in the list, that keys act on. */
  readonly chosen: number;
  /** Decisions that can be undone, the last one at the end. */
  readonly undo: readonly DecideRequest[];
}

const ASK_MILLISECONDS = 300;

/** The page's state, its source of answers, and how it is drawn. */
export class Store {
  state: State = {
    view: 'map',
    about: null,
    status: { label: '', share: null },
    error: null,
    map: null,
    query: '',
    suggested: [],
    filter: '',
    isLasso: false,
    cluster: null,
    listed: null,
    isBusy: false,
    review: null,
    at: 0,
    group: null,
    chosen: 0,
    undo: [],
  };
  /** Whether a drawing is due in the next microtask. */
  #isDue = false;

  constructor(
    readonly source: Source,
    private readonly draw: () => void,
  ) {}

  /** Replaces fields of the state, and draws the page: once for all calls until the next frame. */
  change(part: Partial<State>): void {
    this.state = { ...this.state, ...part };
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.draw();
    });
  }

  /** Does work that may take long, and shows how far the server is until it has ended. */
  async attemptSlowly<T>(work: () => Promise<T>): Promise<T | undefined> {
    const follow = async () => {
      // Where there is no server, or no more, the work says so.
      const status = await this.source.ask('status', null).catch(() => null);
      if (status !== null) this.change({ status });
    };
    void follow();
    const timer = setInterval(follow, ASK_MILLISECONDS);
    const answer = await this.attempt(work);
    clearInterval(timer);
    return answer;
  }

  /** Does work that may fail. Where it does, shows the message and returns undefined. */
  async attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await work();
      if (this.state.error !== null) this.change({ error: null });
      return result;
    } catch (error) {
      this.change({ error: (error as Error).message });
      return undefined;
    }
  }
}

/** What answers the questions of messages.ts. */
interface Source {
  /** Resolves to the answer; rejects with a sentence for people. */
  ask<Q extends Question>(question: Q, asked: Questions[Q][0]): Promise<Questions[Q][1]>;
  readonly isHeld: boolean;
}

/** The source of what the page holds; of null, the server that the page came from. */
export function sourceOf(held: Held | null): Source {
  if (held === null) return { ask: askServer, isHeld: false };
  return { ask: (...asked) => askHeld(held, ...asked), isHeld: true };
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
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** Answers by what the page holds; rejects questions that need a server, as a search. */
async function askHeld<Q extends Question>(
  { about, map }: Held,
  question: Q,
  asked: Questions[Q][0],
): Promise<Questions[Q][1]> {
  const cards = map?.cards ?? [];
  // Typed by the table of answers below, which has only the questions that a page can answer.
  const given = asked as never;
  const answers: { [R in Question]?: () => Questions[R][1] | null } = {
    about: () => about,
    map: () => map,
    find: () => rowsHeld(cards, given),
    cards: () => cardsHeld(cards, given),
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

/** Rows whose texts contain the filter, in any case: this page does not parse filters. */
function rowsHeld(all: readonly Card[], { filter }: Questions['find'][0]): FindAnswer {
  const needle = filter.trim().toLowerCase();
  const some = all.filter(({ id, text, values }) =>
    [id, text ?? '', ...values.map(([, value]) => value)].join(' ').toLowerCase().includes(needle),
  );
  const matching = needle === '' ? null : some.map(({ row }) => row);
  const cards = some.slice(0, MAX_CARDS);
  return { near: null, cards, compared: null, total: some.length, matching };
}
