/**
 * The cost model of bands: how many bits number a table's buckets, and the expected work of
 * building, look-ups and candidates, in units. Which bits are whose key is in codes/pigeonhole.
 */

import { binomial, cut } from '../../codes/pigeonhole';

/** Most bits of a bucket number: the offsets of a table take 4 bytes for each bucket. */
const MAX_BUCKET_BITS = 28;

/**
 * The number of bits of a bucket number, and whether that is the key itself (`isDirect`): it is
 * while there are few more keys than codes; longer keys are hashed to about one bucket a code.
 */
export function bucketBits(width: number, count: number): { bits: number; isDirect: boolean } {
  const near = 31 - Math.clz32(Math.max(1, Math.floor(1.4 * count))); // 2 ** near is about count
  const distinct = 32 - Math.clz32(width); // enough for a different hash of each flipped bit
  const hashed = Math.min(MAX_BUCKET_BITS, Math.max(near, distinct));
  if (width <= Math.min(MAX_BUCKET_BITS, Math.max(near + 1, hashed))) {
    return { bits: width, isDirect: true };
  }
  return { bits: hashed, isDirect: false };
}

/** What a search will find in the buckets. */
interface Expectation {
  /** How many times as full as by chance the buckets near a query are: `Bands.skew`. */
  skew?: number;
  /** True if tables hold 32 prefilter bits of each code. */
  prefilter?: boolean;
}

/**
 * Share of candidates that pass the prefilter bits, roughly: fewer in a search of small distances,
 * more at a fifth of the bits.
 */
const PASSED = 1 / 16;
/**
 * Bytes that a scan reads in the time of one unit, which is a wait for memory: 45 to 60 ns on the
 * bench's machine, where millions of codes do not fit the caches and a scan reads 8 to 15 GB/s. In
 * the caches both are faster.
 */
const SCANNED_BYTES = 512;

/**
 * Work units of a look-up and of a candidate. One unit is a cache miss, to fetch the code of a
 * candidate; a look-up reads offsets, members and, if any, prefilter bits, which are in order.
 * Fitted to times with 10,000,000 codes.
 */
export function unitsOf(prefilter: boolean): { lookUp: number; entry: number } {
  return prefilter ? { lookUp: 3, entry: 1 / 8 } : { lookUp: 2, entry: 1 };
}

/** Work units that take as long as a scan. */
export function scanUnits(bits: number, count: number): number {
  return (count * Math.ceil(bits / 8)) / SCANNED_BYTES;
}

/**
 * Work units of building `blocks` tables: one for each code and table, and more for the bytes of
 * its key. Fitted to 40 to 130 ns for a code and table at 64 and 256 bits, 450 to 900 ns at 1,024.
 */
export function buildUnits(bits: number, count: number, blocks: number): number {
  const bytesPerKey = bits / blocks / 8;
  return blocks * count * (1 + bytesPerKey / 4);
}

/**
 * The expected work units of a search to `radius` by `blocks` tables, if bits were independent and
 * even: the sum over the steps of `Bands.search`, in which step r looks up table r mod m with r / m
 * flipped bits, rounded down.
 */
export function searchCost(
  { bits, count, blocks }: { bits: number; count: number; blocks: number },
  radius: number,
  { skew = 1, prefilter = false }: Expectation = {},
): number {
  const { lookUp, entry } = unitsOf(prefilter);
  const tables = cut({ firstBit: 0, bits }, blocks).map(({ bits: width }) => {
    // Other keys that share a bucket are candidates too, so this counts buckets and not keys.
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
