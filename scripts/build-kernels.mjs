// Compiles src/kernels/**/*.assembly.ts to one WebAssembly module and writes src/kernels/
// module.generated.ts: the module as a hexadecimal string, so that there is no file to serve or to find
// and one source serves every bundler, and the types of its exports as the compiler states them.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import asc from 'assemblyscript/asc';

const kernels = fileURLToPath(new URL('../src/kernels/', import.meta.url));
const folder = await mkdtemp(join(tmpdir(), 'halfspace-kernels-'));

const { error, stderr } = await asc.main([
  join(kernels, 'kernels.assembly.ts'),
  ...['--outFile', join(folder, 'kernels.wasm'), '--bindings', 'raw'],
  ...['--runtime', 'stub', '-O3', '--noAssert', '--converge'],
  ...['--enable', 'simd', '--importMemory', '--noExportMemory'],
  ...['--use', 'abort='],
]);
if (error) {
  await rm(folder, { recursive: true });
  process.stderr.write(stderr.toString());
  process.exit(1);
}
const wasm = await readFile(join(folder, 'kernels.wasm'));
const types = await readFile(join(folder, 'kernels.d.ts'), 'utf8');
await rm(folder, { recursive: true });

/** Lines such as `hashBytes(bytes: number, count: number, seed: bigint): bigint;`. */
const methods = Array.from(types.matchAll(/^ *export function (.*;)$/gm), ([, method]) => method);
const text = `// Made by scripts/build-kernels.mjs from the .assembly.ts files: ${wasm.length} bytes.
export interface KernelExports {
  ${methods.join('\n  ')}
}
/** Hexadecimal: two digits a byte compress a fifth better than base64. */
export const MODULE_HEX =
  '${wasm.toString('hex')}';
`;
const target = join(kernels, 'module.generated.ts');
if ((await readFile(target, 'utf8').catch(() => '')) !== text) await writeFile(target, text);
process.stderr.write(`kernels: ${wasm.length} bytes of WebAssembly\n`);
