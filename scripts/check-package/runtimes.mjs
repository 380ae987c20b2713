// The installed package in other engines, which npm has: the golden codes and one search in each. Deno
// gets no permission but to read files; the Worker of Cloudflare's workerd is bundled as wrangler does.

import assert from 'node:assert/strict';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { run } from '../lib/checks.mjs';

const esbuild = createRequire(import.meta.resolve('tsup'))('esbuild');
const NODE = `node-linux-${process.arch}`;
const VERSIONS = { [NODE]: '26', bun: '1.4.5', deno: '2.9.6', workerd: '1.20261117.1' };
const DENO = ['run', '--no-prompt', '--node-modules-dir=manual', '--allow-read'];

/** Each runs smoke.mjs of the consumer, and returns a note; it fails where the result differs. */
export const RUNTIMES = {
  'Node 26': (consumer, golden) => inProgram(consumer, golden, [NODE, 'smoke.mjs'], 'node'),
  Bun: (consumer, golden) => inProgram(consumer, golden, ['bun', 'run', 'smoke.mjs']),
  'Deno, without --allow-env': (consumer, golden) =>
    inProgram(consumer, golden, ['deno', ...DENO, 'smoke.mjs']),
  'Deno, with --allow-env': (consumer, golden) =>
    inProgram(consumer, golden, ['deno', ...DENO, '--allow-env', 'smoke.mjs']),
  workerd: inWorkerd,
};

async function inProgram(consumer, golden, [name, ...words], file = name) {
  const program = await installed(consumer, name, file);
  expectSmoke(await run(program, words, { cwd: consumer }), golden);
  return VERSIONS[name];
}

async function inWorkerd(consumer, golden) {
  const program = await installed(consumer, 'workerd');
  const folder = join(consumer, '../workerd');
  await mkdir(folder, { recursive: true });
  await esbuild.build({
    stdin: { contents: WORKER, resolveDir: consumer },
    outfile: join(folder, 'worker.js'),
    conditions: ['workerd', 'worker', 'browser'],
    external: ['*.wasm', '*.json'],
    bundle: true,
    format: 'esm',
    logLevel: 'silent',
  });
  for (const file of ['hash.wasm', 'products.wasm', 'search.wasm']) {
    await copyFile(join(consumer, 'node_modules/halfspace/dist', file), join(folder, file));
  }
  await writeFile(join(folder, 'golden.json'), JSON.stringify(golden));
  await writeFile(join(folder, 'config.capnp'), CONFIG);
  await run(program, ['test', join(folder, 'config.capnp')]);
  assert.match(await readFile(join(folder, 'worker.js'), 'utf8'), /search\.wasm/);
  return VERSIONS.workerd;
}

const WORKER = `
import golden from './golden.json';
import { report } from './smoke.mjs';
export default {
  async test() {
    const { digests, id } = await report();
    if (JSON.stringify(digests) !== golden) throw new Error('other digests');
    if (id !== 'b') throw new Error('another row is nearest: ' + id);
  },
};
`;

const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [
      (name = "worker.js", esModule = embed "worker.js"),
      (name = "hash.wasm", wasm = embed "hash.wasm"),
      (name = "products.wasm", wasm = embed "products.wasm"),
      (name = "search.wasm", wasm = embed "search.wasm"),
      (name = "golden.json", text = embed "golden.json"),
    ],
    compatibilityDate = "2025-01-01",
  ))],
);
`;

/** What smoke.mjs prints must be the golden codes, and the id of the nearest row. */
function expectSmoke(printed, golden) {
  const { digests, id } = JSON.parse(printed);
  assert.deepEqual(digests, golden, 'other digests than test/hashing/golden.json');
  assert.equal(id, 'b');
}

/** The path of a program from a package of npm, in a folder next to the consumer's. */
async function installed(consumer, name, file = name) {
  const folder = join(consumer, '../runtimes', name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "private": true }');
  const wanted = `${name}@${VERSIONS[name]}`;
  await run('npm', ['install', wanted, '--no-audit', '--no-fund'], { cwd: folder });
  return join(folder, 'node_modules/.bin', file);
}
