/** Codes as text, first bit first, as worked examples print them. */

export function bitString(code: Uint8Array, bits: number = code.length * 8): string {
  let text = '';
  for (let j = 0; j < bits; j++) text += (code[j >> 3] >> (j & 7)) & 1;
  return text;
}

export function parseBits(text: string): Uint8Array {
  const code = new Uint8Array(Math.ceil(text.length / 8));
  for (let j = 0; j < text.length; j++) if (text[j] === '1') code[j >> 3] |= 1 << (j & 7);
  return code;
}
