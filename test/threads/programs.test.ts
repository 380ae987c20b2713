// @module-tag thorough

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** Programs of their own, bundled as users bundle the library. */

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'halfspace-threads-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PROGRAM = `
  import { isDeepStrictEqual } from 'node:util';
  import { SimHasher, SimHashIndex } from './src/index';
  const dimensions = 64;
  const values = Float32Array.from({ length: 20_000 * dimensions }, (_, i) => ((i * 7919) % 1009) - 504);
  const hasher = new SimHasher({ bits: 256, dimensions });
  let workers = 0;
  process.on('worker', () => workers++);
  async function main() {
    const codes = await hasher.hashAll({ values, dimensions }, { threads: 3 });
    const index = new SimHashIndex({ bits: 256 });
    await index.addAll(codes);
    const queries = await hasher.hashAll({ values: values.slice(0, 300 * dimensions), dimensions });
    const found = await index.searchAll(queries, { threads: 3 });
    const one = await hasher.hashAll({ values, dimensions }, { threads: 1 });
    const expected = [one.bytes, await index.searchAll(queries, { threads: 1 })];
    const isEqual = isDeepStrictEqual([codes.bytes, found], expected);
    console.log(JSON.stringify({ isEqual, workers }));
  }
  main();
`;

describe.each(['esm', 'cjs'] as const)('a program, %s', (format) => {
  const file = join(folder, format === 'esm' ? 'program.mjs' : 'program.cjs');

  beforeAll(async () => {
    const require = createRequire(createRequire(import.meta.url).resolve('tsup'));
    await require('esbuild').build({
      stdin: { contents: PROGRAM, resolveDir: fileURLToPath(new URL('../..', import.meta.url)) },
      ...{ bundle: true, format, platform: 'node', outfile: file, logLevel: 'error' },
      external: ['apache-arrow'],
    });
  });

  it('has equal answers on three threads, and ends though these are not closed', async () => {
    const { stdout } = await run(process.execPath, [file], { timeout: 50_000 });
    expect(JSON.parse(stdout)).toEqual({ isEqual: true, workers: 3 });
  });

  it('uses the number of threads that HALFSPACE_THREADS says', async () => {
    const env = { ...process.env, HALFSPACE_THREADS: '1' };
    const text = readFileSync(file, 'utf8');
    const other = file.replace('program', 'default');
    writeFileSync(other, text.replace(/threads: 3/g, ''));
    const { stdout } = await run(process.execPath, [other], { timeout: 50_000, env });
    expect(JSON.parse(stdout)).toEqual({ isEqual: true, workers: 0 });
  });

  // Hashing shares no rows, so it has threads without shared memory.
  it.each([
    ['SharedArrayBuffer', 'delete globalThis.SharedArrayBuffer;', 3],
    ['workers', 'process.getBuiltinModule = undefined;', 0],
  ])('has equal answers without %s', async (name, prelude, workers) => {
    const other = file.replace('program', `without ${name}`);
    writeFileSync(other, `${prelude}\n${readFileSync(file, 'utf8')}`);
    const { stdout } = await run(process.execPath, [other], { timeout: 50_000 });
    expect(JSON.parse(stdout)).toEqual({ isEqual: true, workers });
  });
});
