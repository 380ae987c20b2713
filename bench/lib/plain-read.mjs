// The floor of any scan: a WebAssembly loop that only loads and adds up the same bytes.

import asc from 'assemblyscript/asc';

const SOURCE = `
export function sum(at: usize, end: usize): i64 {
  let a = i64x2.splat(0), b = a, c = a, d = a;
  for (; at < end; at += 128) {
    a = i64x2.add(a, i64x2.add(v128.load(at), v128.load(at, 64)));
    b = i64x2.add(b, i64x2.add(v128.load(at, 16), v128.load(at, 80)));
    c = i64x2.add(c, i64x2.add(v128.load(at, 32), v128.load(at, 96)));
    d = i64x2.add(d, i64x2.add(v128.load(at, 48), v128.load(at, 112)));
  }
  a = i64x2.add(i64x2.add(a, b), i64x2.add(c, d));
  return i64x2.extract_lane(a, 0) + i64x2.extract_lane(a, 1);
}`;
const START = 65_536;

const { binary, stderr } = await asc.compileString(SOURCE, {
  runtime: 'stub',
  optimizeLevel: 3,
  importMemory: true,
  enable: ['simd'],
});
if (binary === null) throw new Error(stderr.toString());
const compiled = new WebAssembly.Module(binary);

/** A function that reads a copy of `bytes`, a multiple of 128 of them, in a memory of its own. */
export function plainRead(bytes) {
  if (bytes.length % 128 !== 0) throw new RangeError('expected a multiple of 128 bytes');
  const memory = new WebAssembly.Memory({ initial: Math.ceil((START + bytes.length) / 65_536) });
  new Uint8Array(memory.buffer).set(bytes, START);
  const { exports } = new WebAssembly.Instance(compiled, { env: { memory } });
  const words = new BigUint64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8);
  const expected = BigInt.asIntN(
    64,
    words.subarray(0, 1024).reduce((sum, word) => sum + word, 0n),
  );
  if (exports.sum(START, START + 8192) !== expected) throw new Error('the plain read is wrong');
  return () => exports.sum(START, START + bytes.length);
}
