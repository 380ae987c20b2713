/**
 * The state of the page: one immutable object, which the views read. `App.change` replaces it and
 * draws the page again. What a bookmark must restore is in the part of the address after #.
 */

import type { About, Card, MapAnswer, SearchAnswer, Status, WhyAnswer } from '../messages';
import { Conflict } from '../reviewed-plan';
import type { Source } from './source';

/** The views of the page; one is shown at a time. */
export type View = 'map' | 'review';

/**
 * What the panel next to the map lists: all rows, those that meet the filter, those in a lasso, or
 * hits of a search.
 */
export type Listed =
  | {
      readonly kind: 'all' | 'filtered' | 'lasso';
      readonly cards: readonly Card[];
      readonly total: number;
    }
  | ({ readonly kind: 'hits' } & SearchAnswer);

/** How the text that is typed as a query is meant. */
export type QueryKind = 'text' | 'id' | 'vector';

/** Answers of the server, null until they come, and what the user has chosen and typed. */
export interface State {
  readonly view: View;
  readonly about: About | null;
  readonly status: Status;
  readonly map: MapAnswer | null;
  readonly queryKind: QueryKind;
  /** The text in the field of the query. */
  readonly query: string;
  /** The text in the field of the filter. */
  readonly filter: string;
  /** The column by which points are coloured; empty for clusters. */
  readonly colour: string;
  /** Whether a drag on the map draws a lasso. */
  readonly isLasso: boolean;
  /** Null until it is answered, and after a question that failed. */
  readonly listed: Listed | null;
  /** Whether a search runs. */
  readonly isBusy: boolean;
  /** The listed row whose reasons are shown, and these; a null answer: there are none. */
  readonly why: { readonly row: number; readonly answer: WhyAnswer | null } | null;
  /** The message above the view; null for none. */
  readonly error: string | null;
}

/** Time between two questions for the status. */
const ASK_MILLISECONDS = 300;

/**
 * The part of the address after #: the view, kind and text of the query, the filter, the column of
 * the colours, and the place and zoom of the map.
 */
export type Link = Partial<Record<'view' | 'kind' | 'q' | 'filter' | 'colour' | 'at', string>>;

/** The page: its state, its source of answers, and how it is drawn. */
export class App {
  state: State = {
    view: 'map',
    about: null,
    status: { phase: 'working', label: 'opening', share: null },
    map: null,
    queryKind: 'id',
    query: '',
    filter: '',
    colour: '',
    isLasso: false,
    listed: null,
    isBusy: false,
    why: null,
    error: null,
  };
  readonly #draw: () => void;
  /** Whether a drawing is due in the next microtask. */
  #isDue = false;

  constructor(
    readonly source: Source,
    draw: () => void,
  ) {
    this.#draw = draw;
  }

  /** Replaces fields of the state, and draws the page. */
  change(part: Partial<State>): void {
    this.state = { ...this.state, ...part };
    this.redraw();
  }

  /** Draws the page in a microtask: once for all calls until then, and before the next frame. */
  redraw(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#draw();
    });
  }

  /**
   * Asks for the status again and again, and shows it, until `isEnough` or the phase is 'failed',
   * which it also is without an answer. Returns the last status.
   */
  async follow(isEnough: (status: Status) => boolean): Promise<Status> {
    for (;;) {
      const status = await this.source.ask('status', null).catch((error): Status => {
        return { phase: 'failed', label: error.message, share: null };
      });
      this.change({ status });
      if (status.phase === 'failed' || isEnough(status)) return status;
      await new Promise((resolve) => setTimeout(resolve, ASK_MILLISECONDS));
    }
  }

  /** Asks a question that takes long, and shows how far the server is until it is answered. */
  async askSlowly<T>(work: () => Promise<T>): Promise<T | undefined> {
    let isOver = false;
    void this.follow(() => isOver);
    const answer = await this.attempt(work);
    isOver = true;
    return answer;
  }

  /** Does work that may fail. Where it does, shows the message and returns undefined. */
  async attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await work();
      if (this.state.error !== null) this.change({ error: null });
      return result;
    } catch (error) {
      const message = (error as Error).message;
      this.change({
        error: error instanceof Conflict ? `${message}: shown as it is now` : message,
      });
      return undefined;
    }
  }
}

/** Reads the part of an address after #; other names than those of `Link` may be in it. */
export function linkOf(hash: string): Link {
  return Object.fromEntries(new URLSearchParams(hash.replace(/^#/, '')));
}

/** Changes parts of the address after #, without an entry in the history; '' removes a part. */
export function setLink(part: Link): void {
  const all = { ...linkOf(location.hash), ...part };
  const given = Object.entries(all).filter(([, value]) => value);
  const hash = new URLSearchParams(given as [string, string][]).toString();
  history.replaceState(null, '', `#${hash}`);
}
