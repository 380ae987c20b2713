/**
 * Snappy blocks, as pages of Parquet have them (google/snappy, format_description.txt). hyparquet's
 * own decoder never returns on some damaged blocks; this one writes each byte once, and no more
 * than `length` of them.
 */

/** The block's content, which must be of `length` bytes. */
export function decodeSnappy(block: Uint8Array, length: number): Uint8Array {
  const out = new Uint8Array(length);
  let at = 0;
  let filled = 0;
  const byte = () => {
    if (at >= block.length) throw new Error('a Snappy block is cut short');
    return block[at++];
  };
  const number = (bytes: number) => {
    let value = 0;
    for (let i = 0; i < bytes; i++) value += byte() * 2 ** (8 * i);
    return value;
  };
  while (byte() > 0x7f); // the length again, which the page's header has
  while (at < block.length) {
    const tag = byte();
    const kind = tag & 3;
    let count = (tag >> 2) + 1;
    if (kind === 0) {
      if (count > 60) count = number(count - 60) + 1;
      if (count > block.length - at || count > length - filled) throw tooLong(length);
      out.set(block.subarray(at, at + count), filled);
      at += count;
      filled += count;
      continue;
    }
    if (kind === 1) count = ((tag >> 2) & 7) + 4;
    const offset = kind === 1 ? ((tag >> 5) << 8) + byte() : number(kind === 2 ? 2 : 4);
    if (offset < 1 || offset > filled) throw new Error('a Snappy block refers to before its start');
    if (count > length - filled) throw tooLong(length);
    // The copy may overlap what it makes.
    for (const end = filled + count; filled < end; filled++) out[filled] = out[filled - offset];
  }
  if (filled === length) return out;
  throw new Error(`a Snappy block of ${filled} bytes, ${length} were expected`);
}

function tooLong(length: number): Error {
  return new Error(`a Snappy block of more than ${length} bytes`);
}
