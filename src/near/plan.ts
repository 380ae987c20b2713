/**
 * The plan of a deduplication: for each row its group, whether it is kept and which row it
 * duplicates, with a checksum, so that a plan is never applied to other rows.
 */

import { ascending } from '../base/arrays';
import { checkInteger, checkOneOf, wrongType, wrongValue } from '../base/check';
import type { LongWork } from '../base/long-work';
import type { Codes } from '../codes/codes';
import type { Measure } from '../codes/measure';

/** What becomes of each row of a source; all arrays are by row. */
export interface DedupPlan {
  /** Number of rows. */
  readonly count: number;
  /** The name of the row's group: its lowest row when the group was made first. */
  readonly groups: Uint32Array;
  /** 1 for a row that is kept, 0 for one that is dropped. */
  readonly kept: Uint8Array;
  /** The kept row that it duplicates; itself if it is kept. */
  readonly duplicateOf: Uint32Array;
  /**
   * Distance in bits, and exact similarity, to that row: the cosine or, for codes by 'minwise', the
   * Jaccard similarity, as `measure` says. Null without vectors.
   */
  readonly distances: Uint16Array;
  readonly similarities: Float64Array | null;
  readonly measure: Measure['name'] | null;
  /**
   * With the option `common`: the share that a row and the row it duplicates have in common of what
   * is left of the shorter one, NaN where it is not known, and the share of each row that is common
   * text.
   */
  readonly rests?: Float64Array;
  readonly commons?: Float64Array;
  /** A checksum: FNV-1a of the code's bytes, 32 bits. */
  readonly checks: Uint32Array;
  /** 1 if a person has reviewed the row's group; absent if no review was asked for. */
  readonly reviewed?: Uint8Array;
  /** 1 for rows that the plan lists; absent if all. Others have no checksum, and are kept. */
  readonly listed?: Uint8Array;
}

/** The measures of a plan, by which their columns are called. */
export const MEASURES = ['cosine', 'jaccard'] as const;

/** Arrays that each plan has, and those that it may have. */
const ARRAYS = {
  ...{ groups: Uint32Array, kept: Uint8Array, duplicateOf: Uint32Array },
  ...{ distances: Uint16Array, checks: Uint32Array },
};
const MAY_HAVE = {
  ...{ similarities: Float64Array, rests: Float64Array, commons: Float64Array },
  ...{ reviewed: Uint8Array, listed: Uint8Array },
};

/** Throws unless a plan has all of its arrays, one value a row; `name` is for messages. */
export function checkPlanShape(name: string, plan: DedupPlan): void {
  if (typeof plan !== 'object' || plan === null) throw wrongType(name, 'a plan', plan);
  const count = checkInteger(`${name}.count`, plan.count, 0, 2 ** 32);
  for (const [field, Kind] of Object.entries({ ...ARRAYS, ...MAY_HAVE })) {
    const values: unknown = plan[field as keyof DedupPlan];
    if (field in MAY_HAVE && (values ?? null) === null) continue;
    if (!(values instanceof Kind)) throw wrongType(`${name}.${field}`, `a ${Kind.name}`, values);
    if (values.length === count) continue;
    throw wrongValue(`${name}.${field}`, `one for each of ${count} rows`, values.length);
  }
  if (plan.similarities) checkOneOf(`${name}.measure`, plan.measure, MEASURES);
}

/** FNV-1a of no bytes: the checksum of a null row, and the start of all others. */
const NULL_CHECK = 0x811c_9dc5;

/**
 * Throws, with the first row that differs, unless these are the checksums of the plan's rows. A row
 * that the plan drops may have become null.
 */
export function checkPlan(plan: DedupPlan, checks: Uint32Array): void {
  if (checks.length !== plan.count) {
    throw new Error(`the plan is for ${plan.count} rows, the source has ${checks.length}`);
  }
  const isOther = (check: number, row: number) =>
    check !== plan.checks[row] &&
    !(check === NULL_CHECK && plan.kept[row] === 0) &&
    plan.listed?.[row] !== 0;
  const row = checks.findIndex(isOther);
  if (row >= 0) throw new Error(`row ${row} is not the one that the plan was made for`);
}

/** Codes between two steps. */
const STEP_CODES = 2 ** 15;

/** The checksums of codes: FNV-1a, 32 bits. */
export async function checksOf(codes: Codes, work?: LongWork): Promise<Uint32Array> {
  const { bytes, bytesPerCode, count } = codes;
  const checks = new Uint32Array(count).fill(NULL_CHECK);
  for (let row = 0; row < count; row++) {
    if (row % STEP_CODES === STEP_CODES - 1) await work?.step();
    if (codes.isNull(row)) continue;
    let hash = NULL_CHECK;
    let at = row * bytesPerCode;
    for (const stop = at + bytesPerCode; at < stop; at++) {
      hash = Math.imul(hash ^ bytes[at], 0x0100_0193);
    }
    checks[row] = hash;
  }
  return checks;
}

/** A plan of `count` rows that keeps each alone; with similarities by `measure`, unless null. */
export function keptAlone(count: number, measure: DedupPlan['measure']): DedupPlan {
  return {
    count,
    groups: ascending(count),
    kept: new Uint8Array(count).fill(1),
    duplicateOf: ascending(count),
    distances: new Uint16Array(count),
    similarities: measure && new Float64Array(count).fill(1),
    measure,
    checks: new Uint32Array(count).fill(NULL_CHECK),
  };
}
