/**
 * Searches that look at every code: by distance, and by cosine where no partitions are visited. The
 * blocks pass in the order of their files, some MiB at a time, and are not held. Results equal
 * those of an index in memory: distances and weights depend on codes alone, and rows with equal
 * codes are ranked together.
 */

import { keyOf, rowOf, Smallest, weightOf } from '../base/top-k';
import type { RowsByDistance } from '../index/by-distance';
import { sumsOf, weightsOf } from '../index/candidates';
import type { RowFilter } from '../index/index-options';
import type { Candidates, Query } from '../index/index-parts';
import { rankedRows, type Wanted, type Work } from '../index/re-rank';
import { hammingKernel, weightedKernel } from '../kernels/kernels';
import { NO_PARTITION } from '../table/sealed/segment-tables';
import { type BlockName, type BlockReader, type LoadedBlock, rowPlace } from './block-reader';
import type { StoredContent } from './content';
import type { StoredView } from './stored-view';

/** Bytes of blocks that are read together. */
const TOGETHER_BYTES = 2 ** 22;
/** Rows that are noted beyond those that can be results, before others are forgotten. */
const SPARE_ROWS = 4096;

/** What a pass needs. */
export interface Passing {
  readonly content: StoredContent;
  readonly reader: BlockReader;
  readonly view: StoredView;
  readonly signal: AbortSignal | undefined;
}

/** All blocks, one after another; the next are read while these are looked at. */
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

/** Notes a row that may be a result, so that its id, distance and vector can be had later. */
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

/** For each code the rows within `maxDistance`, the k nearest of them, by distance, then row. */
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
        if (distance > maxDistance || keyOf(distance, row) >= best[i].bound) continue;
        if (content.removed.has(row)) continue;
        note(view, block, place, width);
        if (filter === null || filter.accepts(row)) best[i].take(distance, row);
      }
    }
    work.codesCompared += count * queries.length;
    if (view.passedCount > room) room = 2 * forget() + SPARE_ROWS;
  }
  return best.map((one) => {
    const keys = one.result();
    return { rows: Uint32Array.from(keys, rowOf), distances: Uint16Array.from(keys, weightOf) };
  });
}

interface Group {
  readonly weight: number;
  readonly rows: number[];
}

/** Groups of equal codes, and the weight above which none can be among the `want` lightest. */
class LightestGroups {
  readonly groups = new Map<string | number, Group>();
  readonly #counts: Uint32Array;
  #held = 0;
  limit: number;

  constructor(
    maxWeight: number,
    readonly want: number,
  ) {
    this.#counts = new Uint32Array(maxWeight + 1);
    this.limit = maxWeight;
  }

  /** Adds a row to the group of its code. */
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

  /** Forgets groups above the limit. */
  thin(): void {
    for (const [key, { weight }] of this.groups) {
      if (weight > this.limit) this.groups.delete(key);
    }
  }
}

/** Candidates by the estimate of all codes, or of those of few rows. */
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
    const search = weightedKernel(view.kernel).search(from, weights, count);
    search.range(0, count);
    const hits = copied(search.hits());
    work.codesCompared += count;
    for (const [place, weight] of hits) {
      const row = rows[place];
      if (weight > lightest.limit || content.removed.has(row)) continue;
      note(view, block, place, width);
      if (filter !== null && !filter.accepts(row)) continue;
      const key = isShared ? codes.subarray(place * width, (place + 1) * width).join() : row;
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

/** Places and weights of hits by place: a filter may search in turn, and order must not depend. */
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
