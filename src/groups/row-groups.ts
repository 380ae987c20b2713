/**
 * Groups of near rows: around one row, or connected by chains. Each group states how wide it is,
 * since chains connect rows that are far apart.
 */

import { ascending, keyOfBytes } from '../base/arrays';
import { checkOneOf, checkOptions } from '../base/check';
import { asyncForm, LONG_CALL, type LongCall, type Steps, syncForm } from '../base/steps';
import type { Codes } from '../codes/codes';
import { withVectors } from '../join/exact';
import {
  checkGroup,
  NEARNESS,
  type Nearness,
  NONE,
  presentRows,
  type RowSource,
  type Rows,
  rowsOf,
} from '../join/source';
import { distance } from '../kernels/hamming';
import { checkPairs, GROUPINGS, type Grouping, type GroupRequest, gather } from './grouping';
import { checkKeep, type Keep, orderBy } from './keep';

/** Options of `groupRows`. */
export interface GroupOptions extends Nearness, LongCall {
  /**
   * 'star': rows near to one row that is kept; 'components': rows connected by a chain of pairs.
   */
  grouping?: Grouping;
  /**
   * Which row of a group is kept: 'first', 'last', or an object with `random` (a seed), `longest`
   * (texts), `lowest` or `highest` (values).
   */
  keep?: Keep;
  /** For each row a value, -1 for none: only rows of the same value are grouped. */
  group?: Int32Array;
  /**
   * The near pairs, instead of a distance or a similarity: rows with codes, in any order. Stars
   * need all of them; for components as many as connect the rows are enough.
   */
  pairs?: { readonly a: Uint32Array; readonly b: Uint32Array };
}

/** Defaults of `groupRows` and `dedup`. */
const GROUP_DEFAULTS = { grouping: 'star', keep: 'first' } as const;

/** A group of two or more rows. */
export interface RowGroup {
  /** Its lowest row. */
  readonly name: number;
  /** Its rows, ascending. */
  readonly rows: Uint32Array;
  /** The row that is kept. */
  readonly kept: number;
  /** The largest distance between two of its rows; a lower bound if `isWidestExact` is false. */
  readonly widest: number;
  readonly isWidestExact: boolean;
}

/** The groups of a source. */
export interface RowGroups {
  readonly grouping: Grouping;
  /** Number of rows, null and removed ones included. */
  readonly count: number;
  /** For each row the name of its group, its own if it is alone; 0xffffffff for a null row. */
  readonly groupOf: Uint32Array;
  /** Groups of two or more rows, by name. */
  readonly groups: readonly RowGroup[];
}

/** Names of the options of `GroupOptions`. */
export const GROUP_OPTIONS = [...NEARNESS, 'grouping', 'keep', 'group', 'pairs', ...LONG_CALL];
/** Options that say which rows are near, as the pairs do already. */
const NOT_WITH_PAIRS = ['maxDistance', 'minCosine', 'minJaccard', 'group'] as const;

/**
 * Groups rows that are near to each other. Rows in no pair are in no group.
 *
 * @example
 * const codes = new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * const { groups } = groupRows(codes, { maxDistance: 10 });
 * console.log(groups.length, groups[0]?.rows); // 1 Uint32Array(2) [ 0, 1 ]
 */
export const groupRows = /* @__PURE__ */ syncForm(grouping);
/**
 * `groupRows` with pauses for the event loop.
 *
 * @example
 * const codes = new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * const { groupOf } = await groupRowsAsync(codes, { maxDistance: 10, grouping: 'components' });
 * console.log(groupOf); // Uint32Array(3) [ 0, 0, 2 ]
 */
export const groupRowsAsync = /* @__PURE__ */ asyncForm(grouping);

/** The work of both functions above. */
function* grouping(source: RowSource, options: GroupOptions): Steps<RowGroups> {
  const given = checkOptions('options', options, GROUP_OPTIONS);
  const all = withVectors(rowsOf('source', source), given.vectors);
  const { codes } = all;
  const request = groupRequest(all, { ...given, vectors: undefined });
  const order = yield* orderBy(request.keep, presentRows(all));
  const groupOf = ascending(codes.count).map((row) => (codes.isNull(row) ? NONE : row));
  const groups: RowGroup[] = [];
  for (const { rows, kept } of yield* gather(all, order, request)) {
    for (const row of rows) groupOf[row] = rows[0];
    const [widest, isWidestExact] = widestOf(codes, rows);
    groups.push({ name: rows[0], rows, kept, widest, isWidestExact });
    yield undefined;
  }
  groups.sort((a, b) => a.name - b.name);
  return { grouping: request.grouping, count: codes.count, groupOf, groups };
}

/** Checks the options of a grouping against the rows; distances are checked when they are used. */
export function groupRequest({ codes }: Rows, options: GroupOptions): GroupRequest {
  const given = checkOptions('options', options, GROUP_OPTIONS);
  const { grouping, keep, ...near } = { ...GROUP_DEFAULTS, ...given };
  if (near.group !== undefined) checkGroup(near.group, codes.count);
  if (near.pairs !== undefined) {
    const other = NOT_WITH_PAIRS.find((name) => near[name] !== undefined);
    if (other !== undefined) throw new Error(`"pairs" are given: leave out "${other}"`);
    checkPairs(near.pairs, codes);
  }
  return {
    grouping: checkOneOf('grouping', grouping, GROUPINGS),
    keep: checkKeep(keep, codes.count),
    near,
  };
}

/** Largest group in which all codes are compared with all: in codes, and in bytes to read. */
const MAX_COMPARED = 1024;
const MAX_BYTES = 2 ** 23;
/** In larger groups: how often the width is searched from the farthest row so far. */
const SWEEPS = 4;

/** The largest distance within a group, in bits; a lower bound if `isExact` is false. */
function widestOf(codes: Codes, rows: Uint32Array): [widest: number, isExact: boolean] {
  const { bytes, bytesPerCode } = codes;
  const firsts = new Map<string, number>(); // by code its first row
  for (const row of rows) {
    const key = keyOfBytes(codes.at(row));
    if (!firsts.has(key)) firsts.set(key, row);
  }
  const all = [...firsts.values()];
  const isExact = all.length <= MAX_COMPARED && (all.length ** 2 * bytesPerCode) / 2 <= MAX_BYTES;
  let widest = 0;
  if (isExact) {
    for (let i = 1; i < all.length; i++) {
      const code = codes.at(all[i]);
      for (let j = 0; j < i; j++) {
        widest = Math.max(widest, distance(code, bytes, all[j] * bytesPerCode));
      }
    }
    return [widest, true];
  }
  let from = all[0];
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const code = codes.at(from);
    for (const row of all) {
      const here = distance(code, bytes, row * bytesPerCode);
      if (here > widest) [widest, from] = [here, row];
    }
  }
  return [widest, false];
}
