// Faults of the machine under every writer of files: processes killed at random moments, power lost
// with writes and names not on the disk yet, calls to the system that fail in turn, and a long life.
// After each fault the old state or the new one must be there, whole. docs/reliability.md describes them.
//
// npm run faults -- [--kills N] [--losses N] [--errors] [--operations N] [--work NAME] [--seed S]
//
// Without any of the first four: a few of each. --work takes one writer of test/faults/works.ts.

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from './lib/checks.mjs';

const { values } = parseArgs({
  options: {
    kills: { type: 'string' },
    losses: { type: 'string' },
    errors: { type: 'boolean' },
    operations: { type: 'string' },
    work: { type: 'string' },
    seed: { type: 'string', default: '1' },
  },
});
const { seed, work, ...wanted } = values;
const few = { kills: 40, losses: 400, errors: true, operations: 20_000 };
const counts = Object.keys(wanted).length === 0 ? few : wanted;

const esbuild = createRequire(import.meta.resolve('tsup'))('esbuild');
const folder = await mkdtemp(join(tmpdir(), 'halfspace-faults-'));
try {
  await esbuild.build({
    ...{ entryPoints: [join(root, 'test/faults/main.ts')], outfile: join(folder, 'faults.mjs') },
    ...{ bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'error' },
    // The writers under test get the file system that is recorded and fails.
    alias: { 'node:fs/promises': join(root, 'test/faults/traced-fs.ts') },
  });
  const numbers = Object.entries(counts).map(([name, value]) => [name, Number(value)]);
  const given = JSON.stringify({ ...Object.fromEntries(numbers), seed, work });
  const child = spawn(process.execPath, [join(folder, 'faults.mjs'), given], { stdio: 'inherit' });
  process.exitCode = await new Promise((resolve) =>
    child.on('close', (code) => resolve(code ?? 1)),
  );
} finally {
  await rm(folder, { recursive: true });
}
