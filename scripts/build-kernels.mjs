// Compiles src/kernels/**/*.assembly.ts to one WebAssembly module and writes it as a base64 string into
// src/kernels/module.generated.ts: no file to serve or to find, and one source for every bundler.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import asc from 'assemblyscript/asc';

const kernels = fileURLToPath(new URL('../src/kernels/', import.meta.url));
const folder = await mkdtemp(join(tmpdir(), 'halfspace-kernels-'));
const output = join(folder, 'kernels.wasm');

const { error, stderr } = await asc.main([
  join(kernels, 'kernels.assembly.ts'),
  '--outFile',
  output,
  ...['--runtime', 'stub', '-O3', '--noAssert', '--converge'],
  ...['--enable', 'simd', '--importMemory', '--noExportMemory'],
  ...['--use', 'abort='],
]);
const wasm = error ? null : await readFile(output);
await rm(folder, { recursive: true });
if (wasm === null) {
  process.stderr.write(stderr.toString());
  process.exit(1);
}
const text = `// Made by scripts/build-kernels.mjs from the .assembly.ts files: ${wasm.length} bytes.
export const MODULE_BASE64 =
  '${wasm.toString('base64')}';
`;
const target = join(kernels, 'module.generated.ts');
if ((await readFile(target, 'utf8').catch(() => '')) !== text) await writeFile(target, text);
process.stderr.write(`kernels: ${wasm.length} bytes of WebAssembly\n`);
