/** What is grouped: codes, or the rows of an index, which may keep their vectors. */

import { wrongType, wrongValue } from '../check';
import { Codes } from '../codes/codes';
import type { KernelName } from '../kernels/kernels';
import type { KeptVectors } from '../search/kept-vectors';
import { SimHashIndex, stateOf } from '../search/simhash-index';

/** Rows are those of the codes, or of the index; removed and null ones are in no group. */
export type RowSource = Codes | SimHashIndex;

export interface Rows {
  readonly codes: Codes;
  /** Null where none are kept. */
  readonly vectors: KeptVectors | null;
  readonly kernel: KernelName | undefined;
}

export function rowsOf(name: string, source: RowSource): Rows {
  if (source instanceof Codes) return { codes: source, vectors: null, kernel: undefined };
  if (!(source instanceof SimHashIndex)) {
    throw wrongType(name, 'Codes or a SimHashIndex', source);
  }
  const { slots, bits, vectors, kernel } = stateOf(source);
  const validity = new Uint8Array(Math.ceil(slots.rowCount / 8));
  const codes = Codes.allocate(slots.rowCount, { bits, validity });
  for (let row = 0; row < slots.rowCount; row++) {
    if (!slots.hasCode(row)) continue;
    validity[row >> 3] |= 1 << (row & 7);
    codes.bytes.set(slots.codeAt(slots.slotOf(row)), row * slots.bytesPerCode);
  }
  const isWhole = slots.rowsWithCodes().length === slots.rowCount;
  return { codes: isWhole ? codes.withoutValidity() : codes, vectors, kernel };
}

/** Two sources whose codes can be compared. */
export function checkSameBits(left: Rows, right: Rows): void {
  if (left.codes.bits === right.codes.bits) return;
  throw wrongValue('right', `codes of ${left.codes.bits} bits, as the left ones`, right.codes.bits);
}

/** Exact cosines of pairs of rows, those of a row together; rows are in the order of `a`. */
export function cosinesOfPairs(
  left: KeptVectors,
  right: KeptVectors,
  a: Uint32Array,
  b: Uint32Array,
): Float64Array {
  const cosines = new Float64Array(a.length);
  for (let from = 0, to = 0; from < a.length; from = to) {
    while (to < a.length && a[to] === a[from]) to++;
    const norm = left.normOf(a[from]);
    const unit = Float64Array.from(left.valuesAt(a[from]), (value) => value / norm);
    cosines.set(right.cosinesOf(b.subarray(from, to), unit), from);
  }
  return cosines;
}
