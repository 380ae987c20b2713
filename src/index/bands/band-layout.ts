/**
 * What a search by bands is expected to cost: the bits that number a table's buckets, and the work
 * of look-ups and candidates. The layouts themselves are in codes/pigeonhole.
 */

import { binomial, cut } from '../../codes/pigeonhole';

/** Offsets of a table take 4 bytes a bucket. */
const MAX_BUCKET_BITS = 28;

/**
 * How many bits number the buckets of a table, and whether they are the key itself: they are while
 * there are not many more keys than codes; beyond, keys are hashed to about a bucket a code.
 */
export function bucketBits(width: number, count: number): { bits: number; isDirect: boolean } {
  const near = 31 - Math.clz32(Math.max(1, Math.floor(1.4 * count))); // 2^near about count
  const distinct = 32 - Math.clz32(width); // enough to tell single flips apart
  const hashed = Math.min(MAX_BUCKET_BITS, Math.max(near, distinct));
  if (width <= Math.min(MAX_BUCKET_BITS, Math.max(near + 1, hashed))) {
    return { bits: width, isDirect: true };
  }
  return { bits: hashed, isDirect: false };
}

/** What a search is expected to meet. */
interface Expectation {
  /** How many times fuller than by chance the buckets near a query are: `Bands.skew`. */
  skew?: number;
  /** Whether the tables hold 32 prefilter bits of each code. */
  prefilter?: boolean;
}

/**
 * Share of candidates that pass the prefilter bits, roughly: few of a near search, more at a fifth
 * of the bits.
 */
const PASSED = 1 / 16;
/**
 * While a unit waits for memory a scan reads about so many bytes: 45 to 60 ns here, where codes by
 * the million do not fit the caches and a scan runs at 8 to 15 GB/s. In the caches both are faster.
 */
const SCANNED_BYTES = 512;

/**
 * Work units, one being to fetch the code of a candidate: a look-up reads where its bucket is, the
 * codes, and the prefilter bits if any, which are read in order. Fitted to times of 10,000,000
 * codes.
 */
export function unitsOf(prefilter: boolean): { lookUp: number; entry: number } {
  return prefilter ? { lookUp: 3, entry: 1 / 8 } : { lookUp: 2, entry: 1 };
}

/** Work units that take as long as a scan: a limit for the budget of a search. */
export function scanUnits(bits: number, count: number): number {
  return (count * Math.ceil(bits / 8)) / SCANNED_BYTES;
}

/**
 * Work units that building `blocks` tables takes: one for each code and table, and more for the
 * bytes of its key. Fitted to 40 to 130 ns a code and table at 64 and 256 bits, and 450 to 900 ns
 * at 1,024 bits.
 */
export function buildUnits(bits: number, count: number, blocks: number): number {
  const bytesPerKey = bits / blocks / 8;
  return blocks * count * (1 + bytesPerKey / 4);
}

/**
 * The expected work units of a search to `radius` by `blocks` tables where bits are tossed coins:
 * step by step as `Bands.search` goes, block r mod m at r / m differing bits, rounded down.
 */
export function searchCost(
  { bits, count, blocks }: { bits: number; count: number; blocks: number },
  radius: number,
  { skew = 1, prefilter = false }: Expectation = {},
): number {
  const { lookUp, entry } = unitsOf(prefilter);
  const tables = cut({ firstBit: 0, bits }, blocks).map(({ bits: width }) => {
    // Keys that share a bucket are candidates too.
    const candidates = skew * count * 2 ** -bucketBits(width, count).bits;
    return { width, units: lookUp + candidates * (prefilter ? entry + PASSED : entry) };
  });
  let cost = 0;
  for (let step = 0; step <= radius && cost < Number.POSITIVE_INFINITY; step++) {
    const { width, units } = tables[step % blocks];
    cost += binomial(width, Math.floor(step / blocks)) * units;
  }
  return cost;
}
