/**
 * The state of the page and how it changes: one object, which the views read. `change` draws the
 * page again, once a frame; what restores the view is in the part of the address behind #.
 */

import type {
  About,
  Card,
  HealthAnswer,
  MapAnswer,
  SearchAnswer,
  Status,
  WhyAnswer,
} from './messages';
import { Late, type Source } from './source';

export type View = 'map' | 'review' | 'figures';

/** What the panel next to the map lists. */
export type Listed =
  | { readonly kind: 'rows'; readonly cards: readonly Card[]; readonly total: number }
  | { readonly kind: 'lasso'; readonly cards: readonly Card[]; readonly total: number }
  | ({ readonly kind: 'hits' } & SearchAnswer);

export type QueryKind = 'text' | 'id' | 'vector';

export interface State {
  readonly view: View;
  readonly about: About | null;
  readonly status: Status;
  readonly map: MapAnswer | null;
  readonly health: HealthAnswer | null;
  readonly queryKind: QueryKind;
  readonly query: string;
  readonly filter: string;
  /** Column of the colours; empty for clusters. */
  readonly colour: string;
  readonly isLasso: boolean;
  readonly listed: Listed | null;
  readonly isBusy: boolean;
  /** The row of the list whose reasons are shown, and they. */
  readonly why: { readonly row: number; readonly answer: WhyAnswer | null } | null;
  readonly error: string | null;
}

/** How often the page asks how far the server is. */
const ASK_MILLISECONDS = 300;

/** What the part behind # says. */
export type Link = Partial<Record<'view' | 'kind' | 'q' | 'filter' | 'colour' | 'at', string>>;

export class App {
  state: State = {
    ...{ view: 'map', about: null, map: null, health: null, error: null },
    status: { phase: 'working', label: 'opening', share: null },
    ...{ queryKind: 'id', query: '', filter: '', colour: '', isLasso: false },
    ...{ listed: null, isBusy: false, why: null },
  };
  readonly #draw: () => void;
  #isDue = false;

  constructor(
    readonly source: Source,
    draw: () => void,
  ) {
    this.#draw = draw;
  }

  change(part: Partial<State>): void {
    this.state = { ...this.state, ...part };
    this.redraw();
  }

  /** Draws once before the next frame. */
  redraw(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#draw();
    });
  }

  /** Shows how far the server is, until that is enough or there is no answer. */
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

  /** Does work that may fail, and shows why it did; undefined then. */
  async attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await work();
      if (this.state.error !== null) this.change({ error: null });
      return result;
    } catch (error) {
      const message = (error as Error).message;
      this.change({ error: error instanceof Late ? `${message}: shown as it is now` : message });
      return undefined;
    }
  }
}

export function linkOf(hash: string): Link {
  return Object.fromEntries(new URLSearchParams(hash.replace(/^#/, '')));
}

/** Puts a part of the view into the address; without a step in the history. */
export function setLink(part: Link): void {
  const all = { ...linkOf(location.hash), ...part };
  const given = Object.entries(all).filter(([, value]) => value);
  const hash = new URLSearchParams(given as [string, string][]).toString();
  history.replaceState(null, '', `#${hash}`);
}
