// Compiles src/kernels/**/*.assembly.ts to WebAssembly modules: `hash` hashes vectors and texts and
// scans codes, `search` is for indexes and joins, `products` for spaces and clusters, and again as
// `relaxed` for engines with relaxed SIMD. Writes each to src/kernels/NAME.generated.ts: the module as a
// string of ASCII characters, so that there is no file to serve or to find and one source serves every
// bundler, and the types of its exports as the compiler states them. Writes libzstd there too, as the
// package zstddec has it.

import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import asc from 'assemblyscript/asc';

const kernels = fileURLToPath(new URL('../src/kernels/', import.meta.url));
/** Modules with relaxed SIMD: of `search` only swizzles, which memory.ts makes strict if they must be. */
const IS_RELAXED = ['search', 'relaxed'];
const ZSTDDEC = '../../node_modules/zstddec/dist/zstddec-stream.mjs';

/** The text that the comment on a module describes and `bytesOf` in memory.ts reads. */
function textOf(bytes) {
  const characters = Array.from(bytes, (byte) => {
    const number = (byte + 4) & 255;
    const prefix = ['', '|', '}'][Math.floor(number / 89)];
    return prefix + String.fromCharCode(35 + (number % 89));
  });
  return characters.join('');
}

/** Compiles NAME.assembly.ts; returns the module and the types of its exports. */
async function compiled(name) {
  const folder = await mkdtemp(join(tmpdir(), 'halfspace-kernels-'));
  const file = join(folder, `${name}.wasm`);
  try {
    const { error, stderr } = await asc.main([
      join(kernels, `${name === 'relaxed' ? 'products' : name}.assembly.ts`),
      ...['--outFile', file, '--bindings', 'raw'],
      ...['--runtime', 'stub', '-O3', '--noAssert'],
      ...(IS_RELAXED.includes(name) ? ['--enable', 'relaxed-simd'] : []),
      ...['--textFile', join(folder, `${name}.wat`)],
      ...['--enable', 'simd', '--importMemory', '--noExportMemory', '--maximumMemory', '65536'],
      ...['--use', 'abort='],
    ]);
    if (error) throw new Error(stderr.toString());
    // As a file too, for engines that compile no bytes at run time.
    await copyFile(file, join(kernels, `${name}.generated.wasm`));
    return {
      wasm: await readFile(file),
      types: await readFile(join(folder, `${name}.d.ts`), 'utf8'),
      swizzles:
        (await readFile(join(folder, `${name}.wat`), 'utf8')).split('i8x16.relaxed_swizzle')
          .length - 1,
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Writes NAME.generated.ts. */
async function build(name) {
  const { wasm, types, swizzles } = await compiled(name);
  // No other bytes may look like the instruction.
  const alike = wasm.toString('latin1').split('\xfd\x80\x02').length - 1;
  if (alike !== swizzles) throw new Error(`${name} has ${swizzles} swizzles, ${alike} look alike`);
  /** Where the module's one imported memory states its limits: flags, then the least and most pages. */
  const limitsAt = wasm.indexOf('memory\x02') + 'memory\x02'.length;
  if (wasm[limitsAt] !== 1) throw new Error('the imported memory has no maximum, or is not there');
  // All modules work in one memory: none may put data of its own there.
  if (hasSection(wasm, GLOBALS) || hasSection(wasm, DATA)) throw new Error(`${name} has data`);
  /** Lines such as `hashBytes(bytes: number, count: number, seed: bigint): bigint;`. */
  const methods = Array.from(types.matchAll(/^ *export function (.*;)$/gm), ([, method]) => method);
  const title = name[0].toUpperCase() + name.slice(1);
  const text = `// Made by scripts/build-kernels.mjs from the .assembly.ts files: ${wasm.length} bytes.
export interface ${title}Kernels {
  ${methods.join('\n  ')}
}
/**
 * \`text\` is one character for most bytes, so that equal instructions are equal text: an eighth less
 * than hexadecimal digits when both are compressed, a third less than base64. A byte plus 4, of 8
 * bits, is a number in base 89: its last digit is a character from '#' on, '|' or '}' before it adds 89
 * or 178. \`limitsAt\` is the byte that says whether the memory is shared: 1 plain, 3 shared.
 */
export const ${name}Module = {
  name: '${name}',
  limitsAt: ${limitsAt},
  text:
    ${JSON.stringify(textOf(wasm))},
};
`;
  const target = join(kernels, `${name}.generated.ts`);
  if ((await readFile(target, 'utf8').catch(() => '')) !== text) await writeFile(target, text);
  process.stderr.write(`${name}: ${wasm.length} bytes of WebAssembly\n`);
}

/** Sections of a module. */
const [GLOBALS, DATA] = [6, 11];

/** Whether a module has a section. */
function hasSection(wasm, wanted) {
  for (let at = 8; at < wasm.length; ) {
    const section = wasm[at++];
    if (section === wanted) return true;
    let length = 0;
    for (let shift = 0, byte = 128; byte >= 128; shift += 7) {
      byte = wasm[at++];
      length |= (byte & 127) << shift;
    }
    at += length;
  }
  return false;
}

/**
 * Writes zstd.generated.ts: the WebAssembly of the package zstddec, which does not export it, as it
 * stands there, in base64.
 */
async function extractZstd() {
  const script = await readFile(join(kernels, ZSTDDEC), 'utf8');
  const [, text] = /["'](AGFzbQ[\w+/]+=*)["']/.exec(script) ?? [];
  if (text === undefined) throw new Error('zstddec has no WebAssembly where it was');
  const made = `// Made by scripts/build-kernels.mjs of the package zstddec; null in builds for browsers.
export const zstdModule: string | null =
  '${text}';
`;
  const target = join(kernels, 'zstd.generated.ts');
  if ((await readFile(target, 'utf8').catch(() => '')) !== made) await writeFile(target, made);
}

const [name] = process.argv.slice(2);
if (name !== undefined) await build(name);
else {
  // Each by a process of its own, at once: the compiler uses one core.
  const self = fileURLToPath(import.meta.url);
  const compile = (name) => promisify(execFile)(process.execPath, [self, name]);
  const names = ['hash', 'search', 'products', 'relaxed'];
  for (const { stderr } of await Promise.all(names.map(compile))) {
    process.stderr.write(stderr);
  }
  await extractZstd();
  // The worker's script has the types of the modules in it.
  await import('./build-worker.mjs');
}
