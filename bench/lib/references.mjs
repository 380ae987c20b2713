// The methods that halfspace replaces, as the tests have them in test/reference/, bundled on the fly.

import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const { PerBitHash } = await load('per-bit-hash');
const { StoredGaussian } = await load('stored-gaussian');

async function load(name) {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`../../test/reference/${name}.ts`, import.meta.url))],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'node20',
  });
  const source = Buffer.from(outputFiles[0].contents).toString('base64');
  return import(`data:text/javascript;base64,${source}`);
}

/** The codes of the first `count` sparse rows, one after another. */
export function hashRows(entry, { offsets, indices, values }, count) {
  const codes = new Uint8Array((count * entry.bits) / 8);
  for (let row = 0; row < count; row++) {
    const [from, to] = [offsets[row], offsets[row + 1]];
    const code = entry.hashSparse(indices.subarray(from, to), values.subarray(from, to));
    codes.set(code, row * code.length);
  }
  return codes;
}

export { PerBitHash, StoredGaussian };
