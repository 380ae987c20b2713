/** Arrays of numbers out of base64. */

/** What newer engines decode by, some thirty times as fast. */
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

/** Numbers of 32 and of 16 bits; every engine that runs browsers has the lowest byte first. */
export const uint32Of = (text: string) => new Uint32Array(bytesOf(text).buffer);
export const uint16Of = (text: string) => new Uint16Array(bytesOf(text).buffer);
