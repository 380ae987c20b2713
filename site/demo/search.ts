/**
 * Searches of index folders that are static files next to the page, and what each of them asked of
 * the host: requests, bytes, and round trips, which are what a visitor far away waits for.
 */

import { openIndexUrl, type StoredIndex } from '../../src/index';

/** What a step asked of the host. */
export interface Cost {
  readonly step: string;
  readonly requests: number;
  readonly bytes: number;
  /** Requests that began while no other ran: each waits for an answer of the one before. */
  readonly roundTrips: number;
  readonly milliseconds: number;
}

export interface Hit {
  readonly id: string;
  readonly cosine: number;
  /** The value of the column that is shown. */
  readonly shown: string | null;
}

/** An index of the site, as site/indexes.mjs describes it. */
export interface IndexOfSite {
  readonly folder: string;
  readonly title: string;
  readonly id: string;
  readonly show: string | null;
  readonly examples: readonly string[];
}

/** Opens an index; its searches hold at most `memory` of what they read. */
export class SearchedIndex {
  #index: StoredIndex<string> | null = null;

  constructor(
    readonly about: IndexOfSite,
    private readonly address: URL,
  ) {}

  /** Opens the index, and reports what that took; null where it is open. */
  async open(): Promise<Cost | null> {
    if (this.#index !== null) return null;
    const [index, cost] = await measured('open the index', () =>
      openIndexUrl<string>(this.address, { memory: '64MB' }),
    );
    this.#index = index;
    return cost;
  }

  /** The rows nearest to a row; null where no row has the name. */
  async nearest(name: string): Promise<{ hits: Hit[] | null; costs: Cost[] }> {
    const index = this.#index;
    if (index === null) throw new Error('the index is not open');
    const [row, lookup] = await measured('look up the row', () => index.get(name));
    const vector = row?.vector;
    if (!vector) return { hits: null, costs: [lookup] };
    const [found, search] = await measured('search', () => index.search(vector, { k: 11 }));
    const costs = [lookup, search];
    const { show } = this.about;
    let shown: unknown[] | null = null;
    if (show !== null) {
      const { rows } = found;
      const [read, cost] = await measured(`read "${show}"`, () => index.columns([show], { rows }));
      shown = read.values(show);
      costs.push(cost);
    }
    const hits = Array.from(found.ids, (id, i) => ({
      id,
      cosine: found.similarities[i],
      shown: shown && String(shown[i]),
    }));
    return { hits, costs };
  }

  async close(): Promise<void> {
    await this.#index?.close();
    this.#index = null;
  }
}

/** Runs `work`, and counts what it fetches. Works one at a time. */
async function measured<T>(step: string, work: () => Promise<T>): Promise<[T, Cost]> {
  const own = globalThis.fetch;
  const start = performance.now();
  let [requests, bytes, roundTrips, running] = [0, 0, 0, 0];
  globalThis.fetch = async (address, init) => {
    requests++;
    if (running++ === 0) roundTrips++;
    try {
      const response = await own(address, init);
      bytes += await bytesOf(response, init);
      return response;
    } finally {
      running--;
    }
  };
  try {
    const result = await work();
    const milliseconds = performance.now() - start;
    return [result, { step, requests, bytes, roundTrips, milliseconds }];
  } finally {
    globalThis.fetch = own;
  }
}

/** Bytes of an answer: the range that was asked for, or what a whole file has. */
async function bytesOf(response: Response, init: RequestInit | undefined): Promise<number> {
  const range = new Headers(init?.headers).get('range');
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [];
  if (last !== undefined) return Number(last) - Number(first) + 1;
  return response.ok ? (await response.clone().arrayBuffer()).byteLength : 0;
}
