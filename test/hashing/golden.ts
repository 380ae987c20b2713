/**
 * Digests of codes that must be the same everywhere: in Node and in browsers, on every processor, with
 * every kernel. One function that imports nothing and needs nothing of Node, so that it runs in a
 * page as it does here; its vectors come from integers by operations that IEEE 754 rounds one way.
 */
import type * as Library from '../../src/index';

/**
 * FNV-1a (64 bits) of the codes and sums of each case, as hexadecimal, by the case's name. Codes of
 * sets need WebAssembly, so an engine without it leaves them out.
 */
export async function goldenDigests(
  library: Pick<typeof Library, 'SimHasher'>,
  withSets = true,
): Promise<Record<string, string>> {
  const { SimHasher } = library;
  const rows = 13;

  /** Marsaglia's xorshift: 32 random bits a call. */
  let state = 0x2545f491;
  const random = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
  /** From -1 to 1 in steps of no power of two, some of them scaled far up or down. */
  const value = () => {
    const scales = [1, 1, 1, 1, 1, 3e5, 7e-5, 1 / 3];
    return ((random() - 0x7fff_ffff) / 0x7fff_fffd) * scales[random() % 8];
  };
  const denseOf = (width: number) => Float64Array.from({ length: rows * width }, value);
  const sparseOf = (entries: number) => ({
    offsets: Array.from({ length: rows + 1 }, (_, row) => row * entries),
    indices: BigUint64Array.from(
      { length: rows * entries },
      () => (BigInt(random()) << BigInt(random() % 33)) ^ BigInt(random() % 50),
    ),
    values: Float64Array.from({ length: rows * entries }, value),
  });

  const digest = (bytes: Uint8Array) => {
    let hash = 0xcbf29ce484222325n;
    for (const byte of bytes) {
      hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
    }
    return hash.toString(16).padStart(16, '0');
  };
  /** Little-endian, and one zero of the two: no code tells them apart. */
  const bytesOf = (sums: Float64Array) => {
    const bytes = new Uint8Array(8 * sums.length);
    const view = new DataView(bytes.buffer);
    sums.forEach((sum, j) => {
      view.setFloat64(8 * j, sum === 0 ? 0 : sum, true);
    });
    return bytes;
  };

  const digests: Record<string, string> = {};
  const widths = [1, 7, 64, 65, 300];
  for (const bits of widths) {
    const seed = 0xfedc_ba98_7654_3210n - BigInt(bits);
    for (const projection of ['signs', 'gaussian', 'hadamard'] as const) {
      for (const dimensions of [3, 100, 384]) {
        const values = denseOf(dimensions);
        const hasher = new SimHasher({ bits, seed, projection, dimensions });
        const name = `${projection}, ${bits} bits, ${dimensions} dimensions`;
        digests[name] = digest((await hasher.hashAll({ values, dimensions })).bytes);
        const narrow = Float32Array.from(denseOf(dimensions));
        digests[`${name}, float32`] = digest(
          (await hasher.hashAll({ values: narrow, dimensions })).bytes,
        );
        const sums = hasher.accumulate(values.subarray(0, dimensions));
        digests[`${name}, sums`] = digest(bytesOf(sums));
      }
    }
    for (const projection of ['signs', 'gaussian'] as const) {
      const matrix = sparseOf(61);
      const hasher = new SimHasher({ bits, seed, projection });
      const name = `${projection}, ${bits} bits, sparse`;
      digests[name] = digest((await hasher.hashAll(matrix)).bytes);
      const indices = matrix.indices.subarray(0, 61);
      const sums = hasher.accumulate({ indices, values: matrix.values.subarray(0, 61) });
      digests[`${name}, sums`] = digest(bytesOf(sums));
    }
    const matrix = sparseOf(20);
    const pattern = (dimension: number | bigint) =>
      Uint8Array.from({ length: Math.ceil(bits / 8) }, (_, i) =>
        Number((BigInt(dimension) * BigInt(i + 3)) % 251n),
      );
    const given = new SimHasher({ bits, pattern });
    digests[`own patterns, ${bits} bits`] = digest((await given.hashAll(matrix)).bytes);
    if (bits <= 64) {
      const direct = new SimHasher({ bits, projection: 'direct' });
      digests[`direct, ${bits} bits`] = digest((await direct.hashAll(matrix)).bytes);
    }
    if (!withSets) continue;
    const sets = new SimHasher({ bits, seed, projection: 'minwise' });
    digests[`minwise, ${bits} bits`] = digest((await sets.hashAll(matrix)).bytes);
  }
  return digests;
}
