/** The ids of an index's rows: what they are, and how many rows there can be. */

/** The name of a row: all rows of an index have ids of one kind. */
export type Id = string | number | bigint;

/** The kind of an index's ids, which the first added rows decide: 'row' if they had none. */
export type IdKind = 'row' | 'number' | 'bigint' | 'string';

/** Most rows of an index: larger 32-bit numbers have other meanings. */
export const MAX_ROWS = 0xffff_fff0;
