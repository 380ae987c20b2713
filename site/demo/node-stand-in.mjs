// What the readers of src/formats use of Node, for a browser. Only streams are read there, so nothing
// of files is called; names that are not here are undefined (see .vitepress/config.mjs).

/** The few methods of Node's Buffer that readers of CSV, JSONL, Parquet and Arrow call. */
class Bytes extends Uint8Array {
  static alloc(count) {
    return new Bytes(count);
  }

  static from(source, at = 0, count = undefined) {
    if (typeof source === 'string') return new Bytes(new TextEncoder().encode(source));
    const isMemory = source instanceof ArrayBuffer;
    return isMemory ? new Bytes(source, at, count) : new Bytes(source);
  }

  toString(encoding = 'utf8', start = 0, end = this.length) {
    const own = this.subarray(start, end);
    if (encoding !== 'hex') return new TextDecoder(encoding, { ignoreBOM: true }).decode(own);
    return Array.from(own, (byte) => byte.toString(16).padStart(2, '0')).join('');
  }
}

globalThis.Buffer ??= Bytes;

export function isUtf8(bytes) {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

export function extname(path) {
  return /[^/.](\.[^/.]*)$/.exec(path)?.[1] ?? '';
}

const unread = (codec) => () => {
  throw new Error(`pages compressed by ${codec} are read by the command, not by this page`);
};
export const gunzipSync = unread('gzip');
export const brotliDecompressSync = unread('Brotli');

export const isAddress = () => false;
export const noteChecksum = () => undefined;

export async function npyRows() {
  throw new Error('.npy is read by the command, not by this page');
}

export const others = {};
