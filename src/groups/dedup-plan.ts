/**
 * The plan of a deduplication: for each row its group, the row that it duplicates and how far it
 * is from it, to be read and edited by a person before anything is dropped. A plan has a checksum
 * of each row, so that it is never applied to others.
 */

import type { Codes } from '../codes/codes';
import { cosinesOfPairs, type Rows } from '../join/source';
import { distance } from '../kernels/hamming/hamming.scalar';

/** What each row of a source becomes. */
export interface DedupPlan {
  /** Number of rows. */
  readonly count: number;
  /** By row the name of its group: the group's least row when the group was first made. */
  readonly groups: Uint32Array;
  /** 1 where a row is kept. */
  readonly kept: Uint8Array;
  /** By row the kept row that it duplicates; itself where it is kept. */
  readonly keepers: Uint32Array;
  /** Distance and exact cosine to that row; cosines are null where the source has no vectors. */
  readonly distances: Uint16Array;
  readonly cosines: Float64Array | null;
  /** By row a checksum: FNV-1a of the code's bytes, 32 bits, unless others were given. */
  readonly checks: Uint32Array;
}

/** FNV-1a of no bytes: the checksum of a null row. */
const NULL_CHECK = 0x811c_9dc5;

/**
 * Throws, naming the first row that differs, unless these are the checksums of the plan's rows. A
 * row that the plan drops may be null by now.
 */
export function checkPlan(plan: DedupPlan, checks: Uint32Array): void {
  if (checks.length !== plan.count) {
    throw new Error(`the plan is for ${plan.count} rows, the source has ${checks.length}`);
  }
  const isOther = (check: number, row: number) =>
    check !== plan.checks[row] && !(check === NULL_CHECK && plan.kept[row] === 0);
  const row = checks.findIndex(isOther);
  if (row >= 0) throw new Error(`row ${row} is not the one that the plan was made for`);
}

/** A checksum of each code. */
export function checksOf(codes: Codes): Uint32Array {
  const { bytes, bytesPerCode, count } = codes;
  const checks = new Uint32Array(count).fill(NULL_CHECK);
  for (let row = 0; row < count; row++) {
    if (codes.isNull(row)) continue;
    let hash = NULL_CHECK;
    let at = row * bytesPerCode;
    for (const end = at + bytesPerCode; at < end; at++) {
      hash = Math.imul(hash ^ bytes[at], 0x0100_0193);
    }
    checks[row] = hash;
  }
  return checks;
}

/** Rows of a source, of which the first is row `first` of the plan. */
export interface PlanRows {
  readonly rows: Rows;
  readonly first: number;
}

/**
 * Writes distances, and cosines where the plan has them, of `dropped` rows of one source to the
 * rows of another (or the same) that they duplicate. Rows are those of the plan.
 */
export function measureDropped(
  { keepers, distances, cosines }: Pick<DedupPlan, 'keepers' | 'distances' | 'cosines'>,
  dropped: Uint32Array,
  from: PlanRows,
  to: PlanRows,
): void {
  const { bytes, bytesPerCode } = from.rows.codes;
  const others = to.rows.codes.bytes;
  for (const row of dropped) {
    const at = (row - from.first) * bytesPerCode;
    const code = bytes.subarray(at, at + bytesPerCode);
    distances[row] = distance(code, others, (keepers[row] - to.first) * bytesPerCode);
  }
  if (cosines === null) return;
  // Cosines are fastest where the duplicates of one row follow each other.
  const order = dropped.slice().sort((a, b) => keepers[a] - keepers[b] || a - b);
  const a = order.map((row) => keepers[row] - to.first);
  const b = order.map((row) => row - from.first);
  cosinesOfPairs(to.rows, from.rows, a, b).forEach((cosine, i) => {
    cosines[order[i]] = cosine;
  });
}
