/**
 * A plan of which rows to keep: one line for each row, with its group, the row that it duplicates
 * and how far it is, to be read and edited by a person before anything is dropped. A plan knows its
 * rows by a checksum of each, so that it is never applied to others.
 */

import { checkOptions, wrongValue } from '../base/check';
import { checkLongCall, runSteps, runStepsAsync, type Steps } from '../base/steps';
import type { Codes } from '../codes/codes';
import { NONE } from '../join/distinct';
import { cosinesOfPairs, type RowSource, type Rows, rowsOf } from '../join/source';
import { distance } from '../kernels/hamming/hamming.scalar';
import { GROUP_OPTIONS, type GroupOptions, groupSteps, type RowGroups } from './row-groups';

export interface DedupOptions extends GroupOptions {
  /** A checksum of each row, for rows that are known by more than their code. */
  checks?: Uint32Array;
}

/** What each row of a source becomes. */
export interface DedupPlan {
  /** Rows. */
  readonly count: number;
  /** By row the name of its group: the group's least row when it was first made. */
  readonly groups: Uint32Array;
  /** 1 where a row is kept. */
  readonly kept: Uint8Array;
  /** By row the kept row that it duplicates; itself where it is kept. */
  readonly keepers: Uint32Array;
  /** Distance and exact cosine to it; cosines are null where no vectors are kept. */
  readonly distances: Uint16Array;
  readonly cosines: Float64Array | null;
  /** By row a checksum: FNV-1a of the code's bytes, 32 bits, unless others were given. */
  readonly checks: Uint32Array;
}

/** FNV-1a of no bytes. */
const NULL_CHECK = 0x811c_9dc5;

export const DEDUP_OPTIONS = [...GROUP_OPTIONS, 'checks'];

/** A plan for the rows of a source. Null rows are kept. */
export function dedup(source: RowSource, options: DedupOptions): DedupPlan {
  return runSteps(planning(source, options), checkLongCall({ ...options }));
}

/** The same in turns with the event loop. */
export async function dedupAsync(source: RowSource, options: DedupOptions): Promise<DedupPlan> {
  return runStepsAsync(planning(source, options), checkLongCall({ ...options }));
}

function* planning(source: RowSource, options: DedupOptions): Steps<DedupPlan> {
  const { checks, ...given } = checkOptions('options', options, DEDUP_OPTIONS);
  const rows = rowsOf('source', source);
  const found = yield* groupSteps(rows, given);
  return planOf(rows, found, checksOf(rows.codes, checks));
}

/** Fails, with the first row that differs, unless these are the rows of the plan; dropped ones may
 * be null by now. */
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
export function checksOf(codes: Codes, given?: Uint32Array): Uint32Array {
  if (given !== undefined) {
    if (given.length === codes.count) return given;
    throw wrongValue('checks', `one for each of ${codes.count} rows`, given.length);
  }
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

function planOf(rows: Rows, { groupOf, groups }: RowGroups, checks: Uint32Array): DedupPlan {
  const names = groupOf.map((name, row) => (name === NONE ? row : name));
  const keepers = Uint32Array.from(names, (_, row) => row);
  for (const group of groups) for (const row of group.rows) keepers[row] = group.keeper;
  return finished(rows, names, keepers, checks);
}

/** With all that follows from who keeps whom. */
function finished(
  rows: Rows,
  groups: Uint32Array,
  keepers: Uint32Array,
  checks: Uint32Array,
): DedupPlan {
  const { codes } = rows;
  const { bytes, bytesPerCode, count } = codes;
  const dropped = Uint32Array.from(keepers, (_, row) => row).filter((row) => keepers[row] !== row);
  const distances = new Uint16Array(count);
  for (const row of dropped) {
    const code = bytes.subarray(row * bytesPerCode, (row + 1) * bytesPerCode);
    distances[row] = distance(code, bytes, keepers[row] * bytesPerCode);
  }
  let cosines: Float64Array | null = null;
  if (rows.vectors !== null) {
    cosines = new Float64Array(count).fill(1);
    const order = dropped.sort((a, b) => keepers[a] - keepers[b] || a - b);
    const found = cosinesOfPairs(
      rows,
      rows,
      order.map((row) => keepers[row]),
      order,
    );
    for (let i = 0; i < order.length; i++) cosines[order[i]] = found[i];
  }
  const kept = Uint8Array.from(keepers, (keeper, row) => Number(keeper === row));
  return { count, groups, kept, keepers, distances, cosines, checks };
}
