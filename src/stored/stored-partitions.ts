/**
 * The partitions of a stored index as one search uses them: routes by the centroids, and weighs the
 * partitions that the cache holds by the kernels of an index in memory. Where those that a search
 * visits do not fit into memory together, or those of many searches that run together, they pass.
 */

import { ascending } from '../base/arrays';
import type { Steps } from '../base/steps';
import type { SearchedPartitions } from '../index/index-parts';
import { Centroids, type Routes } from '../index/partitions/centroids';
import { withoutCopies } from '../index/partitions/entries';
import { ended, gapOf, shortened, type Weighed } from '../index/partitions/gaps';
import { firstPartitions, ReplayedSearch } from '../index/partitions/replayed-search';
import { ResidualCodes } from '../index/partitions/residual-codes';
import {
  type PartitionQuery,
  type RoutedQuery,
  type Space,
  spaceOf,
} from '../index/partitions/space';
import { FallingLimit, type HitSearch, type Hits, type Search } from '../kernels/hits';
import {
  type EarlierSearch,
  HELD,
  NO_GAP,
  paused,
  residualKernel,
} from '../kernels/residual-search';
import { RANGE, type ResidualRows, type ResidualTables } from '../kernels/residuals';
import { type WeightTables, weightedKernel } from '../kernels/weighted';
import type { StoredContent } from './content';
import { Need, Pass } from './needs';
import type { PartitionCache } from './partition-cache';
import { PassedRows } from './passed-rows';

/** What routes queries: the same for all searches. */
export class Router {
  readonly count: number;
  readonly space: Space;
  readonly residualCodes: ResidualCodes | null;
  readonly gaps: readonly number[];
  readonly nearness: number;
  /** See `Partitions.entriesPerCode`. */
  readonly entriesPerCode: 1 | 2;
  readonly #centroids: Centroids;

  constructor({ parts, header }: StoredContent, centroids: Int16Array) {
    const { dense, bits, hasher } = parts;
    // For queries alone: rows were assigned to partitions when they were written.
    const noCodes = { rowOf: (row: number) => row, codeAt: () => new Uint8Array() };
    this.space = spaceOf({ dense, bits }, noCodes);
    const encoded = { vectors: dense, seed: hasher.seed };
    this.residualCodes = ResidualCodes.of(encoded, 0);
    this.#centroids = new Centroids(centroids, this.space.width, this.residualCodes);
    this.count = this.#centroids.count;
    this.gaps = header.gaps ?? [];
    this.nearness = header.nearness ?? 0;
    this.entriesPerCode = header.copies ? 2 : 1;
  }

  /** As `Centroids.nearest`, but valid for good: other searches run while one waits. */
  nearest(query: RoutedQuery, probes: number): Routes {
    const { order, products } = this.#centroids.nearest(query, probes);
    return { order: order.slice(), products: products.slice() };
  }
}

/** Notes which rows a search has found. */
export interface Notes {
  /** Of a search whose rows are all in memory: hits are cells. */
  noteCells(hits: Hits, limit: number): void;
  /** Of a search whose rows have passed: hits are codes of `rows`. */
  noteRows(rows: PassedRows, hits: Hits, limit: number): void;
}

interface Searching {
  readonly notes: Notes;
  /** Whether it is one of many that run together, so that all partitions are wanted. */
  readonly isMeasured: boolean;
}

/** Partitions in the order of a search. */
interface Visit {
  readonly order: Uint32Array;
  /** 2,048 times the products of the query with their centroids. */
  readonly products: Float32Array;
}

/** Parts in which partitions are read where a search may end early. */
const READS = 4;

export class StoredPartitions implements SearchedPartitions {
  readonly #router: Router;
  readonly #content: StoredContent;
  readonly #cache: PartitionCache;
  readonly #notes: Notes;
  readonly #isMeasured: boolean;

  constructor(
    content: StoredContent,
    router: Router,
    cache: PartitionCache,
    { notes, isMeasured }: Searching,
  ) {
    this.#content = content;
    this.#router = router;
    this.#cache = cache;
    this.#notes = notes;
    this.#isMeasured = isMeasured && !cache.holdsAll;
  }

  get count(): number {
    return this.#router.count;
  }

  get entriesPerCode(): 1 | 2 {
    return this.#router.entriesPerCode;
  }

  get space(): Space {
    return this.#router.space;
  }

  get residualCodes(): ResidualCodes | null {
    return this.#router.residualCodes;
  }

  /** See `Partitions.nearness`. */
  get nearness(): number {
    return this.#router.nearness;
  }

  nearest(query: RoutedQuery, probes: number) {
    return this.#router.nearest(query, probes);
  }

  *weighCodes(
    query: RoutedQuery,
    probes: number,
    weights: WeightTables,
    ask: number,
  ): Steps<Weighed> {
    const { order } = this.nearest(query, probes);
    const held = this.entriesPerCode * ask;
    const { codes: memory } = this.#cache;
    let codes = 0;
    const weigh = (search: HitSearch, partition: number) => {
      this.#cache.runs.each(partition, (cell, count) => {
        search.range(cell, cell + count);
        codes += count;
      });
    };
    if (!this.#isMeasured && this.#cache.groupsOf(order, order).length === 1) {
      yield* this.#loaded(order, true);
      const entries = weightedKernel.search(memory, weights, held);
      for (const partition of order) weigh(entries, partition);
      const search = this.#rowsOf(entries, ask, (cell) => memory.rows[cell]);
      this.#notes.noteCells(search.hits(), search.limit);
      return { search, codes, visited: probes };
    }
    const all = new FallingLimit(weights.maxWeight, held);
    const rows = this.#passedRows();
    yield this.#passing(order, true, (part) => {
      const search = weightedKernel.search(memory, weights, held);
      for (const partition of order) if (part.has(partition)) weigh(search, partition);
      const { limit } = search;
      const hits = search.hits();
      for (let i = 0; i < hits.count; i++) {
        const weight = hits.weights[i];
        if (weight <= Math.min(limit, all.limit)) all.take(rows.keep(hits.codes[i]), weight);
      }
    });
    const passed = { limit: all.limit, held: all.held, hits: () => all.list };
    const found = this.#rowsOf(passed, ask, (code) => rows.rowOf(code));
    this.#notes.noteRows(rows, found.hits(), found.limit);
    return ended(found, found.hits(), { codes, visited: probes });
  }

  /** The `ask` lightest rows of a search among entries, each with one of its entries. */
  #rowsOf(search: Search, ask: number, rowOf: (entry: number) => number): Search {
    return this.entriesPerCode === 1 ? search : withoutCopies(search, ask, rowOf);
  }

  *weighResiduals(query: PartitionQuery, probes: number, ask: number): Steps<Weighed> {
    const { gaps, nearness } = this.#router;
    const { order, products } = this.nearest(query, probes);
    // As in Partitions.ranges: the product with the shortened centroid.
    const visit = { order, products: new Float32Array(probes) };
    for (let i = 0; i < probes; i++) {
      visit.products[i] = shortened(products[i], nearness);
    }
    const held = this.entriesPerCode * ask;
    const first = this.#firstOf(visit, held);
    const gap = gapOf(gaps, probes, ask);
    const begun = yield* this.#begun(query, visit, { ask: held, gap, first });
    const cells = { limit: begun.limit, held: begun.held, hits: () => begun.hits };
    if (first < probes && !begun.isEarly) {
      const { search, rows, ...work } = yield* this.#rest(query, visit, held, begun);
      const found = this.#rowsOf(search, ask, (code) => rows.rowOf(code));
      this.#notes.noteRows(rows, found.hits(), found.limit);
      return ended(found, found.hits(), work);
    }
    const { rows } = this.#cache.codes;
    const found = this.#rowsOf(cells, ask, (cell) => rows[cell]);
    this.#notes.noteCells(found.hits(), found.limit);
    return ended(found, found.hits(), begun);
  }

  /**
   * Weighs the first partitions. Where it may end early, they are read a part at a time, unless
   * each read is a round trip.
   */
  *#begun(
    { unit }: PartitionQuery,
    visit: Visit,
    { ask, gap, first }: { ask: number; gap: number; first: number },
  ) {
    const all = visit.order.subarray(0, first);
    const isAtOnce = gap === NO_GAP || this.#content.files.isFar === true;
    const isHere = isAtOnce || this.#cache.missing(all, false).length === 0;
    const step = isHere ? first : Math.ceil(first / READS);
    let earlier: EarlierSearch | undefined;
    let searched = new Uint32Array();
    for (let [from, end] = [0, step]; ; [from, end] = [end, Math.min(first, end + step)]) {
      yield* this.#loaded(all.subarray(0, end), false, from);
      const { ranges, owners } = this.#rangesOf(visit, ascending(end));
      // While it waited, others may have made partitions lie elsewhere: then it starts again.
      const isMoved = searched.some((value, at) => value !== ranges[at]);
      const at = isMoved ? 0 : searched.length;
      const search = this.#search(this.#tablesOf(unit), ask, gap, isMoved ? undefined : earlier);
      const seen =
        at / RANGE + search.ranges(ranges.subarray(at), ranges[at + 3] === ranges[at - 1]);
      const isEarly = seen < owners.length;
      if (!isEarly && end < first) {
        [earlier, searched] = [paused(search), ranges];
        continue;
      }
      let codes = 0;
      for (let at = 0; at < seen; at++) codes += ranges[RANGE * at + 2];
      const visited = seen === 0 ? 0 : owners[seen - 1] + 1;
      const { limit, held } = search;
      return {
        ...{ codes, visited, isEarly, gap, first },
        ...{ limit, held, hits: search.hits() },
      };
    }
  }

  #tablesOf(unit: Float64Array): ResidualTables {
    return (this.#router.residualCodes as ResidualCodes).tablesOf(unit);
  }

  #search(tables: ResidualTables, want: number, gap: number, earlier?: EarlierSearch) {
    return residualKernel.search(this.#cache.residuals as ResidualRows, tables, want, gap, earlier);
  }

  /** How many partitions of an order are weighed together, never between two of equal products. */
  #firstOf({ order, products }: Visit, ask: number): number {
    const { rows } = this.#cache;
    const end = this.#isMeasured
      ? firstPartitions(products, ask, (i) => rows[order[i]])
      : order.length;
    return this.#cache.groupsOf(order.subarray(0, end), products)[0].end;
  }

  /** Goes on with partitions that pass. */
  *#rest(
    { unit }: PartitionQuery,
    visit: Visit,
    ask: number,
    begun: { codes: number; hits: Hits; limit: number; gap: number; first: number },
  ): Steps<Weighed & { readonly rows: PassedRows }> {
    const { order, products } = visit;
    const { hits, limit, gap, first } = begun;
    const rows = this.#passedRows();
    const search = new ReplayedSearch(ask, gap, order.length);
    for (let i = 0; i < hits.count; i++) {
      search.take(rows.keep(hits.codes[i]), hits.weights[i]);
    }
    yield this.#passing(order.subarray(first), false, (part) => {
      const places = ascending(order.length).filter((i) => i >= first && part.has(order[i]));
      const { ranges, owners } = this.#rangesOf(visit, places);
      const residuals = this.#cache.residuals as ResidualRows;
      const held = residualKernel.holding(residuals, [this.#tablesOf(unit)]);
      owners.forEach((i, at) => {
        const [cell, , count, product] = ranges.subarray(RANGE * at);
        const run = { first: cell, end: cell + count, code: cell };
        search.count(i, count);
        held.look(run, Uint32Array.of(0, product, limit, 0), (_, cells, from, end) => {
          for (let at = from; at < end; at += HELD) cells[at] = rows.keep(cells[at]);
          search.hold(i, cells, from, end);
        });
      });
    });
    const { visited, codes: compared } = search.replay(first, order.length, products);
    return { search, rows, codes: begun.codes + compared, visited };
  }

  /** Partitions in any order, each of which is looked at while it is in memory. */
  #passing(
    partitions: Uint32Array,
    needsCodes: boolean,
    look: (part: ReadonlyMap<number, unknown>) => void,
  ): Pass {
    this.#countHits(partitions, needsCodes);
    return new Pass(this.#cache, wantedOf(partitions, needsCodes), look);
  }

  #passedRows(): PassedRows {
    return new PassedRows(this.#cache, this.#content.segments, this.#isMeasured);
  }

  #countHits(partitions: Uint32Array, needsCodes: boolean): void {
    const missing = this.#cache.missing(partitions, needsCodes);
    this.#cache.counts.hits += partitions.length - missing.length;
  }

  /** Waits until these partitions are in memory; those before `from` were waited for. */
  *#loaded(partitions: Uint32Array, needsCodes: boolean, from = 0): Steps<void> {
    this.#countHits(partitions.subarray(from), needsCodes);
    let missing = this.#cache.missing(partitions, needsCodes);
    while (missing.length > 0) {
      yield new Need(this.#cache, wantedOf(partitions, needsCodes));
      missing = this.#cache.missing(partitions, needsCodes);
    }
  }

  /** The cells of some of an order as ranges of the kernel, and to which of it each belongs. */
  #rangesOf({ order, products }: Visit, places: Uint32Array) {
    const { runs } = this.#cache;
    const count = runs.countOf(order, places);
    const ranges = new Uint32Array(RANGE * count);
    const floats = new Float32Array(ranges.buffer);
    const owners = new Uint32Array(count);
    let [place, product, range] = [0, 0, 0];
    const add = (cell: number, cells: number) => {
      const at = RANGE * range;
      owners[range++] = place;
      ranges[at] = ranges[at + 1] = cell;
      ranges[at + 2] = cells;
      floats[at + 3] = product;
    };
    for (place of places) {
      product = products[place];
      runs.each(order[place], add);
    }
    return { ranges, owners };
  }
}

function wantedOf(partitions: Uint32Array, needsCodes: boolean): Map<number, boolean> {
  return new Map(Array.from(partitions, (partition) => [partition, needsCodes]));
}
