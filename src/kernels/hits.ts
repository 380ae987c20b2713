/** Codes of rows, as searches read them: some stand for no row, since it was removed. */

/** An entry of `rows` for a code that stands for no row; searches skip it. */
export const NO_ROW = 0xffff_ffff;

/** The codes that are searched, and the row that each stands for, or NO_ROW. */
export interface RowCodes {
  readonly bytesPerCode: number;
  readonly codes: Uint8Array;
  readonly rows: Uint32Array;
}
