/**
 * How many tables bands have, and how far searches by them pay, from bits, rows and radius: by the
 * pigeonhole principle, two codes within distance r differ in at most r / m bits (rounded down) of
 * one of m blocks. Which bits are whose key is in codes/pigeonhole.
 */

import { binomial, cut } from '../../codes/pigeonhole';

/** Most bits of a bucket number: the offsets of a table take 4 bytes for each bucket. */
const MAX_BUCKET_BITS = 28;
/** Most tables, each of which takes 4 bytes for each code and for each bucket. */
const MAX_BLOCKS = 16;
/** Random reads of a look-up: its offsets and its members. Each candidate is one more: its code. */
export const LOOK_UP_READS = 2;
/**
 * Bytes of codes that a scan passes in the time of one random read: 30 to 60 ns, where reads took
 * 45 to 60 (codes of 64 to 1,024 bits).
 */
const SCANNED_BYTES = 512;
/** Share of the reads of a scan that bands may take: at a half, bands were never slower. */
const MAX_SHARE = 1 / 2;

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

/**
 * The number of blocks for searches to a radius: so many that one block is equal, at most so many
 * that a block has as many bits as number all codes.
 */
export function blocksFor(bits: number, count: number, radius: number): number {
  const numbering = 32 - Math.clz32(count);
  return Math.min(radius + 1, Math.ceil(bits / Math.max(1, numbering)), MAX_BLOCKS);
}

/** Random reads that a search by tables may take in place of a scan. */
export function maxReads(bits: number, count: number): number {
  return (MAX_SHARE * count * Math.ceil(bits / 8)) / SCANNED_BYTES;
}

/**
 * The largest radius to which a search by tables is expected to take at most `maxReads`; -1 for
 * none. Step r looks up table r mod m with r / m flipped bits, rounded down. `skew` is how many
 * times as full as by chance buckets are (`Bands.skew`).
 */
export function reachOf(
  { bits, count, blocks }: { bits: number; count: number; blocks: number },
  skew = 1,
): number {
  const tables = cut({ firstBit: 0, bits }, blocks).map(({ bits: width }) => {
    // Other keys that share a bucket are candidates too, so this counts buckets and not keys.
    return { width, reads: LOOK_UP_READS + skew * count * 2 ** -bucketBits(width, count).bits };
  });
  let left = maxReads(bits, count);
  for (let radius = 0; radius <= bits; radius++) {
    const { width, reads } = tables[radius % blocks];
    left -= binomial(width, Math.floor(radius / blocks)) * reads;
    if (left < 0) return radius - 1;
  }
  return bits;
}
