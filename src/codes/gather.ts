/** Copies codes into another order, in which a join, a group or a cluster then reads them. */

/**
 * Copies the code at position `places[i]` of `from` to position i of `to`. Where `places[i]` is
 * beyond the end of `from`, position i of `to` is left as it is. Copies words of 32 bits where
 * codes consist of whole, aligned ones, five times as fast as bytes. Callers copy all codes of an
 * index in one step, so that they do not see later changes.
 */
export function gatherCodes(
  from: Uint8Array,
  to: Uint8Array,
  bytesPerCode: number,
  places: Uint32Array,
): void {
  const hasWords = (bytesPerCode | from.byteOffset | to.byteOffset) % 4 === 0;
  const [source, target] = hasWords ? [wordsOf(from), wordsOf(to)] : [from, to];
  const width = hasWords ? bytesPerCode / 4 : bytesPerCode;
  const end = from.length / bytesPerCode;
  for (let row = 0; row < places.length; row++) {
    if (places[row] >= end) continue;
    const at = row * width;
    const first = places[row] * width;
    for (let i = 0; i < width; i++) target[at + i] = source[first + i];
  }
}

function wordsOf({ buffer, byteOffset, length }: Uint8Array): Uint32Array {
  return new Uint32Array(buffer, byteOffset, length >> 2);
}
