/**
 * Arrays of numbers from the base64 of their bytes, as answers have them. Each call returns a new
 * array.
 */

/** The decoder of newer engines, which is some thirty times as fast as `atob`. */
interface Decoder {
  fromBase64(text: string): Uint8Array<ArrayBuffer>;
}

/** The bytes of a base64 text. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  if ('fromBase64' in Uint8Array) return (Uint8Array as unknown as Decoder).fromBase64(text);
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

/** Numbers of 32 and of 16 bits, lowest byte first: the byte order of all browsers' engines. */
export const uint32Of = (text: string) => new Uint32Array(bytesOf(text).buffer);
export const uint16Of = (text: string) => new Uint16Array(bytesOf(text).buffer);
