/**
 * Vectors of 16-bit integers that 8 bits a value and a peak a vector hold: value i is
 * round(byte i · peak / 127). What was rounded so once is held exactly, so centroids that are
 * trained with 8 bits are the same in memory and in half of the bytes.
 */

import { lengthOf } from '../base/length';

const MAX_BYTE = 127;

interface ByteRows {
  readonly bytes: Int8Array;
  /** The largest magnitude in each vector. */
  readonly peaks: Uint16Array;
}

/** The nearest such vectors; `width` values each. */
export function toByteRows(values: Int16Array, width: number): ByteRows {
  const bytes = new Int8Array(values.length);
  const peaks = new Uint16Array(values.length / width);
  for (let row = 0, at = 0; row < peaks.length; row++, at += width) {
    let peak = 0;
    for (let i = at; i < at + width; i++) peak = Math.max(peak, Math.abs(values[i]));
    peaks[row] = peak;
    for (let i = at; peak > 0 && i < at + width; i++) {
      bytes[i] = Math.round((values[i] * MAX_BYTE) / peak);
    }
  }
  return { bytes, peaks };
}

/** Rounds vectors to such ones, in place, whose lengths are about `length`, unless they are 0. */
export function roundToByteRows(values: Int16Array, width: number, length: number): void {
  const { bytes, peaks } = toByteRows(values, width);
  for (let row = 0; row < peaks.length; row++) {
    const own = lengthOf(bytes, row * width, (row + 1) * width);
    if (own > 0) peaks[row] = Math.round((MAX_BYTE * length) / own);
  }
  values.set(fromByteRows({ bytes, peaks }));
}

/** Their values. */
export function fromByteRows({ bytes, peaks }: ByteRows): Int16Array {
  const values = new Int16Array(bytes.length);
  const width = bytes.length / peaks.length;
  for (let row = 0, at = 0; row < peaks.length; row++, at += width) {
    for (let i = at; i < at + width; i++) {
      values[i] = Math.round((bytes[i] * peaks[row]) / MAX_BYTE);
    }
  }
  return values;
}
