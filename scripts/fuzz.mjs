// Fuzzing: inputs that no honest maker makes, by the thousand, in child processes with limits of time
// and memory. A finding is a crash, a hang, an error that is not in our words, memory beyond what the
// input justifies, or a wrong answer. Inputs follow from target, seed and number, so each finding
// can be run again.
//
// npm run fuzz -- [TARGET,...|all] [--seconds 60] [--inputs N] [--seed 1] [--first 0] [--list]
//
// Seconds and inputs are of all targets together. docs/reliability.md describes the targets.

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from './lib/checks.mjs';

/** Seconds of the processor that one input may take, and the same of the clock. */
const MAX_SECONDS = 5;
const MAX_CLOCK_SECONDS = 60;
const MAX_HEAP_MB = 256;
const MAX_RSS_BYTES = 1.5 * 2 ** 30;
const POLL_MS = 200;
/** A child that dies more often has nothing new to say. */
const MAX_DEATHS = 10;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string' },
    inputs: { type: 'string' },
    seed: { type: 'string', default: '1' },
    first: { type: 'string', default: '0' },
    list: { type: 'boolean', default: false },
  },
});

const esbuild = createRequire(import.meta.resolve('tsup'))('esbuild');
let children = 0;
const folder = await mkdtemp(join(tmpdir(), 'halfspace-fuzz-'));
try {
  process.exitCode = await main();
} finally {
  await rm(folder, { recursive: true });
}

async function main() {
  await esbuild.build({
    ...{ entryPoints: [join(root, 'test/fuzz/fuzz.child.ts')], outfile: join(folder, 'child.mjs') },
    ...{ bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'error' },
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  const all = JSON.parse((await childOf([]).end).stdout);
  if (values.list) {
    console.log(all.join('\n'));
    return 0;
  }
  const wanted = positionals.flatMap((names) => names.split(',')).filter((name) => name !== 'all');
  const unknown = wanted.filter((name) => !all.includes(name) && !name.startsWith('broken-'));
  if (unknown.length > 0) {
    console.error(`no target ${unknown.join(', ')}; --list shows them`);
    return 2;
  }
  return fuzz(wanted.length > 0 ? wanted : all);
}

async function fuzz(targets) {
  const share = (text) =>
    text === undefined ? Number.POSITIVE_INFINITY : Number(text) / targets.length;
  const seconds =
    values.inputs === undefined ? share(values.seconds ?? '60') : share(values.seconds);
  const inputs = Math.ceil(share(values.inputs));
  let [total, failed] = [0, 0];
  for (const target of targets) {
    const result = await runTarget(target, { seconds, inputs });
    total += result.inputs;
    if (result.findings.length > 0) failed++;
    console.log(`${result.findings.length === 0 ? '✓' : '✗'} ${target}: ${result.inputs} inputs`);
    for (const { message, input } of result.findings) {
      console.log(`  npm run fuzz -- ${target} --seed ${values.seed} --first ${input} --inputs 1`);
      console.log(`    ${message.replaceAll('\n', '\n    ')}`);
    }
  }
  console.log(`${total} inputs, seed ${values.seed}`);
  console.log(`${targets.length - failed} passed, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

/** Runs a target in as many children as die of it. */
async function runTarget(target, { seconds, inputs }) {
  const findings = [];
  const start = performance.now();
  const first = Number(values.first);
  let next = first;
  for (let deaths = 0; deaths < MAX_DEATHS; deaths++) {
    const left = seconds - (performance.now() - start) / 1000;
    const count = first + inputs - next;
    if (count <= 0 || left <= 0) break;
    const child = childOf([target, values.seed, next, left, count]);
    const limit = await watched(child);
    const { stdout, stderr, code } = await child.end;
    let isDone = false;
    for (const line of stdout
      .split('\n')
      .filter((one) => one.startsWith('{"'))
      .map(JSON.parse)) {
      if (line.message !== undefined) findings.push(line);
      else [isDone, next] = [true, next + line.inputs];
    }
    if (isDone) break;
    const at = Number(await child.note().catch(() => -1));
    findings.push({ input: at, message: limit ?? `died with ${code}: ${stderr.slice(0, 600)}` });
    if (at < next) break; // it died before its first input
    next = at + 1;
  }
  return { inputs: next - first, findings };
}

function childOf(args) {
  const note = join(folder, `note-${children++}`);
  const env = {
    ...process.env,
    NOTE: note,
    FIXTURES: join(root, 'test/fixtures/').replace(/^/, 'file://'),
  };
  const words = [
    `--max-old-space-size=${MAX_HEAP_MB}`,
    join(folder, 'child.mjs'),
    ...args.map(String),
  ];
  const process_ = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'])
    process_[name].on('data', (data) => (output[name] += data));
  const end = new Promise((resolve) => {
    process_.on('close', (code, signal) => resolve({ ...output, code: code ?? signal }));
  });
  return { process: process_, end, note: async () => (await readFile(note, 'utf8')).trim() };
}

/** Ends a child that exceeds a limit, and says which; null when it ends before. */
async function watched({ process: { pid }, process: child, end, note }) {
  let isOver = false;
  end.then(() => (isOver = true));
  let [input, since] = [null, null];
  while (!isOver) {
    await Promise.race([end, new Promise((resolve) => setTimeout(resolve, POLL_MS))]);
    if (isOver) break;
    const [at, used] = [await note().catch(() => null), await usedBy(pid)];
    if (used === null) continue;
    if (at !== input || since === null) [input, since] = [at, used];
    const hangs =
      used.processor - since.processor > MAX_SECONDS ||
      used.clock - since.clock > MAX_CLOCK_SECONDS;
    const limit = hangs
      ? `no end after ${MAX_SECONDS} seconds of the processor`
      : used.rss > MAX_RSS_BYTES && `${used.rss} bytes resident`;
    if (!limit) continue;
    child.kill('SIGKILL');
    return limit;
  }
  return null;
}

/** Seconds and memory of a process; where /proc is missing only the clock counts. */
async function usedBy(pid) {
  const clock = performance.now() / 1000;
  try {
    const stat = (await readFile(`/proc/${pid}/stat`, 'latin1')).replace(/^.*\) /, '').split(' ');
    // Ticks of 10 ms in user and system mode, pages of 4 KiB: proc(5), with the first two cut off.
    return {
      clock,
      processor: (Number(stat[11]) + Number(stat[12])) / 100,
      rss: 4096 * Number(stat[21]),
    };
  } catch {
    return { clock, processor: 0, rss: 0 };
  }
}
