/**
 * Searches that look at every code: by distance, and by cosine without partitions. Blocks pass
 * through memory in file order, some MiB at a time, and are not kept. Results equal those of an
 * index in memory: distances and weights depend on codes alone, and rows with equal codes are
 * ranked together.
 */

import { keyOfBytes } from '../base/arrays';
import { keyOf, rowOf, Smallest, weightOf } from '../base/top-k';
import type { RowsByDistance } from '../index/by-distance';
import { sumsOf, weightsOf } from '../index/candidates';
import type { RowFilter } from '../index/filter';
import type { Candidates, Query } from '../index/index-parts';
import { rankedRows, type Wanted, type Work } from '../index/re-rank';
import { hammingKernel } from '../kernels/kernels';
import { weightedKernel } from '../kernels/weighted';
import { NO_PARTITION } from '../table/sealed/segment-tables';
import { type BlockName, type BlockReader, type LoadedBlock, rowPlace } from './block-reader';
import type { StoredContent } from './content';
import type { StoredView } from './stored-view';

/** Blocks are read together until they reach this many bytes. */
const TOGETHER_BYTES = 2 ** 22;
/** How many rows are noted beyond the possible results before the rest is forgotten. */
const SPARE_ROWS = 4096;

/** What a search needs to read all blocks. */
export interface Passing {
  readonly content: StoredContent;
  readonly reader: BlockReader;
  readonly view: StoredView;
  readonly signal: AbortSignal | undefined;
}

/** Yields all blocks in file order; the next ones are read while the caller looks at these. */
export async function* passingBlocks({
  content,
  reader,
  signal,
}: Pick<Passing, 'content' | 'reader' | 'signal'>): AsyncGenerator<LoadedBlock> {
  const groups = blockGroups(content);
  const read = (i: number) => {
    const reading = i < groups.length ? reader.blocks(groups[i], signal) : Promise.resolve([]);
    reading.catch(() => undefined); // reported when it is waited for
    return reading;
  };
  let next = read(0);
  for (let i = 0; i < groups.length; i++) {
    const blocks = await next;
    next = read(i + 1);
    yield* blocks;
  }
}

/** The blocks in the order of the files, in groups of about TOGETHER_BYTES. */
function blockGroups({ segments }: StoredContent): BlockName[][] {
  const groups: BlockName[][] = [];
  let bytes = TOGETHER_BYTES;
  for (const segment of segments) {
    for (let block = 0; block < segment.table.count; block++) {
      if (bytes >= TOGETHER_BYTES) {
        groups.push([]);
        bytes = 0;
      }
      groups[groups.length - 1].push({ segment, block });
      bytes += segment.table.bytes[block];
    }
  }
  return groups;
}

/**
 * Notes a row that may become a result, so that its id, code and place are known after its block
 * has passed.
 */
function note(view: StoredView, block: LoadedBlock, place: number, width: number): void {
  const { rows, ids, codes } = block.rows;
  const id = ids?.at(place);
  view.notePassed({
    ...{ ...rowPlace(block, place), row: rows[place], id: id === undefined ? null : () => id },
    code: codes.slice(place * width, (place + 1) * width),
  });
}

interface DistanceWanted {
  readonly k: number;
  readonly maxDistance: number;
  readonly filter: RowFilter | null;
}

/**
 * For each query the k nearest live rows within `maxDistance` that the filter accepts, sorted by
 * distance, then row. One pass over the blocks serves all queries.
 */
export async function nearestPassing(
  passing: Passing,
  queries: readonly Uint8Array[],
  { k, maxDistance, filter }: DistanceWanted,
  work: Work,
): Promise<RowsByDistance[]> {
  const { content, view } = passing;
  const width = view.distinctCodes.bytesPerCode;
  const kernel = hammingKernel(view.kernel, width);
  const best = queries.map(() => new Smallest(Math.min(k, content.header.nextRow)));
  // Forgets noted rows that are no longer results; returns how many are left.
  const forget = () => {
    const kept = new Set<number>();
    for (const one of best) for (const key of one.unordered()) kept.add(rowOf(key));
    view.keepPassed(kept);
    return kept.size;
  };
  let room = SPARE_ROWS;
  for await (const block of passingBlocks(passing)) {
    const { count, partition, rows, codes } = block.rows;
    if (partition === NO_PARTITION) continue;
    const distances = new Uint16Array(count);
    for (const [i, query] of queries.entries()) {
      kernel.distancesInto(codes, count, query, distances);
      for (let place = 0; place < count; place++) {
        const [row, distance] = [rows[place], distances[place]];
        // The cheap tests come first: most rows end here.
        if (distance > maxDistance || keyOf(distance, row) >= best[i].bound) continue;
        if (content.removed.has(row)) continue;
        // Noted before the filter runs, since the filter may ask for the id of the row.
        note(view, block, place, width);
        if (filter === null || filter.accepts(row)) best[i].take(distance, row);
      }
    }
    work.codesCompared += count * queries.length;
    // The allowance doubles with what is kept, so forgetting takes linear time in total.
    if (view.passedCount > room) room = 2 * forget() + SPARE_ROWS;
  }
  return best.map((one) => {
    const keys = one.result();
    return { rows: Uint32Array.from(keys, rowOf), distances: Uint16Array.from(keys, weightOf) };
  });
}

/** Rows with equal codes in the order in which they came, and the weight of their code. */
interface Group {
  readonly weight: number;
  readonly rows: number[];
}

/** Groups of rows with equal codes, and a weight limit that falls as lighter groups come. */
class LightestGroups {
  readonly groups = new Map<string | number, Group>();
  /** The number of groups of each weight. */
  readonly #counts: Uint32Array;
  /** The number of groups within the limit. */
  #held = 0;
  /** No group above this weight can be among the `want` lightest. */
  limit: number;

  constructor(
    maxWeight: number,
    readonly want: number,
  ) {
    this.#counts = new Uint32Array(maxWeight + 1);
    this.limit = maxWeight;
  }

  /** Adds a row to the group of its code. A group holds at most `mostRows` rows. */
  take(key: string | number, weight: number, row: number, mostRows: number): void {
    const group = this.groups.get(key);
    if (group !== undefined) {
      if (group.rows.length < mostRows) group.rows.push(row);
      return;
    }
    this.groups.set(key, { weight, rows: [row] });
    this.#counts[weight]++;
    this.#held++;
    while (this.limit > 0 && this.#held - this.#counts[this.limit] >= this.want) {
      this.#held -= this.#counts[this.limit--];
    }
  }

  /** Forgets the groups above the limit. */
  thin(): void {
    for (const [key, { weight }] of this.groups) {
      if (weight > this.limit) this.groups.delete(key);
    }
  }
}

/** Candidates by estimate, among all codes or among the few rows of a filter. */
export async function candidatesPassing(
  passing: Passing,
  query: Query,
  wanted: Wanted,
  work: Work,
): Promise<Candidates> {
  const { content, view } = passing;
  const { k, want, filter } = wanted;
  const width = view.distinctCodes.bytesPerCode;
  const weights = weightsOf(sumsOf(view, query));
  const lightest = new LightestGroups(weights.maxWeight, want);
  const isShared = view.distinctCodes.hasDuplicates;
  let room = 2 * want + SPARE_ROWS;
  for await (const block of passingBlocks(passing)) {
    const { count, partition, rows, codes } = block.rows;
    if (partition === NO_PARTITION) continue;
    const from = { bytesPerCode: width, codes, rows };
    // Returns all rows of the block; those above the limit over all blocks are dropped below.
    const search = weightedKernel.search(from, weights, count);
    search.range(0, count);
    const hits = copied(search.hits());
    work.codesCompared += count;
    for (const [place, weight] of hits) {
      const row = rows[place];
      if (weight > lightest.limit || content.removed.has(row)) continue;
      note(view, block, place, width);
      if (filter !== null && !filter.accepts(row)) continue;
      // If no two rows share a code, each row is its own group.
      const code = codes.subarray(place * width, (place + 1) * width);
      const key = isShared ? keyOfBytes(code) : row;
      lightest.take(key, weight, row, k + want);
    }
    if (view.passedCount <= room) continue;
    lightest.thin();
    const kept = new Set<number>();
    for (const group of lightest.groups.values()) for (const row of group.rows) kept.add(row);
    view.keepPassed(kept);
    room = 2 * kept.size + SPARE_ROWS;
  }
  lightest.thin();
  return ranking(view, [...lightest.groups.values()], weights.cosineOf, wanted);
}

/**
 * Positions and weights of hits, sorted by position. A copy, since a filter may run another search;
 * sorted, so that results do not depend on the order in a kernel.
 */
function copied({
  codes,
  weights,
  count,
}: {
  codes: Uint32Array;
  weights: Uint32Array;
  count: number;
}): [number, number][] {
  const pairs = Array.from({ length: count }, (_, i): [number, number] => [codes[i], weights[i]]);
  return pairs.sort(([a], [b]) => a - b);
}

/** The candidates in the lightest groups, likeliest first. */
function ranking(
  view: StoredView,
  groups: readonly Group[],
  cosineOf: (weight: number) => number,
  wanted: Wanted,
): Candidates {
  const best = new Smallest(wanted.want);
  for (const { weight, rows } of groups) best.take(weight, rows[0]);
  view.setCodes(groups);
  return rankedRows(view, best, cosineOf, wanted);
}
