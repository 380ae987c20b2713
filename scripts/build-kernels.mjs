// Compiles src/kernels/**/*.assembly.ts to one WebAssembly module and writes src/kernels/
// module.generated.ts: the module as a string of ASCII characters, so that there is no file to serve or to
// find and one source serves every bundler, and the types of its exports as the compiler states them.

import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
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
  ...['--enable', 'simd', '--importMemory', '--noExportMemory', '--maximumMemory', '65536'],
  ...['--use', 'abort='],
]);
if (error) {
  await rm(folder, { recursive: true });
  process.stderr.write(stderr.toString());
  process.exit(1);
}
const wasm = await readFile(join(folder, 'kernels.wasm'));
const types = await readFile(join(folder, 'kernels.d.ts'), 'utf8');
// As a file too, for engines that compile no bytes at run time.
await copyFile(join(folder, 'kernels.wasm'), join(kernels, 'kernels.generated.wasm'));
await rm(folder, { recursive: true });

/** The text that MODULE_TEXT describes below and `moduleBytes` in memory.ts reads. */
function textOf(bytes) {
  const characters = Array.from(bytes, (byte) => {
    const number = (byte + 4) & 255;
    const prefix = ['', '|', '}'][Math.floor(number / 89)];
    return prefix + String.fromCharCode(35 + (number % 89));
  });
  return characters.join('');
}

/** Where the module's one imported memory states its limits: flags, then the least and most pages. */
const memoryAt = wasm.indexOf('memory\x02') + 'memory\x02'.length;
if (wasm[memoryAt] !== 1) throw new Error('the imported memory has no maximum, or is not there');

/** Lines such as `hashBytes(bytes: number, count: number, seed: bigint): bigint;`. */
const methods = Array.from(types.matchAll(/^ *export function (.*;)$/gm), ([, method]) => method);
const text = `// Made by scripts/build-kernels.mjs from the .assembly.ts files: ${wasm.length} bytes.
export interface KernelExports {
  ${methods.join('\n  ')}
}
/**
 * One character for most bytes, so that equal instructions are equal text: an eighth less than
 * hexadecimal digits when both are compressed, a third less than base64. A byte plus 4, of 8 bits, is
 * a number in base 89: its last digit is a character from '#' on, '|' or '}' before it adds 89 or 178.
 */
export const MODULE_TEXT =
  ${JSON.stringify(textOf(wasm))};
/** The byte that says whether the memory is shared: 1 plain, 3 shared. */
export const LIMITS_AT = ${memoryAt};
`;
const target = join(kernels, 'module.generated.ts');
if ((await readFile(target, 'utf8').catch(() => '')) !== text) await writeFile(target, text);
process.stderr.write(`kernels: ${wasm.length} bytes of WebAssembly\n`);

// The worker's script has the types of the module in it.
await import('./build-worker.mjs');
