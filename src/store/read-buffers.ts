/**
 * Buffers for reads, used again once their bytes were copied: to touch new pages of memory takes
 * two or three times as long as the system takes to copy a file's bytes into old ones.
 */

/** Buffers have a power of two of bytes, at least so many. */
const MIN_SHIFT = 12;
/** Bytes that wait to be used again, at most; a buffer with more is used once. */
const MAX_FREE_BYTES = 2 ** 24;

export class ReadBuffers {
  /** By the exponent of their size. */
  #free: ArrayBuffer[][] = [];
  #freeBytes = 0;
  /** Buffers that were handed out and may be given back. */
  readonly #lent = new WeakSet<ArrayBuffer>();

  /** Space for so many bytes, which are not zeroed, at the beginning of a buffer. */
  take(length: number): Uint8Array<ArrayBuffer> {
    // Not from Node's pool: other buffers would share the memory.
    if (length > MAX_FREE_BYTES) return new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);
    const shift = Math.max(MIN_SHIFT, 32 - Math.clz32(length - 1));
    const old = this.#free[shift]?.pop();
    if (old !== undefined) this.#freeBytes -= old.byteLength;
    const buffer = old ?? Buffer.allocUnsafeSlow(2 ** shift).buffer;
    this.#lent.add(buffer);
    return new Uint8Array(buffer, 0, length);
  }

  /** Takes back the buffers of these bytes, once no caller reads any of them. */
  giveBack(all: Iterable<ArrayBufferView>): void {
    for (const buffer of new Set(Array.from(all, (one) => one.buffer as ArrayBuffer))) {
      const { byteLength } = buffer;
      if (!this.#lent.delete(buffer)) continue;
      // Above the limit all waiting buffers are dropped: their sizes may no longer be wanted.
      if (this.#freeBytes + byteLength > MAX_FREE_BYTES) [this.#free, this.#freeBytes] = [[], 0];
      const shift = 31 - Math.clz32(byteLength);
      this.#free[shift] ??= [];
      this.#free[shift].push(buffer);
      this.#freeBytes += byteLength;
    }
  }
}
