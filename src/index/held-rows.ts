/**
 * How an index gives its rows to joins, groups and clusters: by a method under this symbol, so that
 * these work on an index without importing it.
 */

import type { Codes } from '../codes/codes';
import type { RowVectors } from './vectors/row-vectors';

/**
 * The rows of an index: a copy of the codes, where removed rows are null, and the vectors by row, a
 * copy where they lie at other places.
 */
export interface HeldRows {
  readonly codes: Codes;
  /** Vectors for exact similarities; null where none are held. */
  readonly vectors: RowVectors | null;
}

export const HELD_ROWS: unique symbol = /* @__PURE__ */ Symbol.for('halfspace: rows of an index');
