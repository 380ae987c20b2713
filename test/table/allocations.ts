/**
 * Counts the bytes of buffers that code asks for: every ArrayBuffer, typed array and WebAssembly memory
 * made while `allocated` runs its function, whether it still lives or not. The sum is at least the peak,
 * it does not depend on the garbage collector, and a request is counted before it is granted, so one
 * for terabytes is seen though it fails. Import this before what is to be watched: libraries keep
 * `Uint8Array` in variables of their own.
 */

type Constructor = new (...args: unknown[]) => object;

const PAGE_BYTES = 65_536;
const NAMES = [
  'ArrayBuffer',
  'SharedArrayBuffer',
  'Int8Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'Float32Array',
  'Float64Array',
  'BigInt64Array',
  'BigUint64Array',
];

let total = 0;

/** What `run` answered, and the bytes that it asked for. */
export function allocated<T>(run: () => T): { answer: T; bytes: number } {
  const before = total;
  const answer = run();
  return { answer, bytes: total - before };
}

function bytesWanted(first: unknown, bytesPerElement: number): number {
  if (typeof first === 'number') return first * bytesPerElement;
  if (first instanceof ArrayBuffer || first instanceof SharedArrayBuffer) return 0; // a view
  return (Number((first as ArrayLike<unknown>)?.length) || 0) * bytesPerElement;
}

function watch(holder: object, name: string, count: (args: unknown[]) => number): void {
  const real = Reflect.get(holder, name) as Constructor;
  const watched: Constructor = new Proxy(real, {
    construct(target, args, newTarget) {
      total += count(args);
      return Reflect.construct(target, args, newTarget === watched ? target : newTarget);
    },
  });
  Reflect.set(holder, name, watched);
}

/** Methods that make a buffer without its constructor's public name. */
function watchMethod(prototype: object, name: string, count: (args: unknown[]) => number): void {
  const real = Reflect.get(prototype, name) as (...args: unknown[]) => { byteLength: number };
  const watched = function (this: unknown, ...args: unknown[]) {
    total += count(args);
    const made = Reflect.apply(real, this, args);
    if (name === 'slice') total += made.byteLength;
    return made;
  };
  Object.defineProperty(prototype, name, { value: watched, configurable: true, writable: true });
}

watchMethod(Object.getPrototypeOf(Uint8Array.prototype), 'slice', () => 0);
watchMethod(ArrayBuffer.prototype, 'slice', () => 0);
watchMethod(WebAssembly.Memory.prototype, 'grow', ([pages]) => Number(pages) * PAGE_BYTES);
watch(WebAssembly, 'Memory', ([limits]) => {
  return (limits as WebAssembly.MemoryDescriptor).initial * PAGE_BYTES;
});
for (const name of NAMES) {
  const real = Reflect.get(globalThis, name) as { BYTES_PER_ELEMENT?: number };
  watch(globalThis, name, ([first]) => bytesWanted(first, real.BYTES_PER_ELEMENT ?? 1));
}
