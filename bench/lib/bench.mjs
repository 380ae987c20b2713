// What every bench uses: sizes, one core, timing in turns, fresh processes, tables in Markdown.
//
// Tables go to stdout, whatever is not a result to stderr. `--small` takes sizes that show only that a
// bench runs. Everything runs on one core (BENCH_CORE, 0 by default), since neighbours of a shared
// machine slow its cores unequally; BENCH_CORE=0,1 gives two. `--json=FILE` keeps what a bench prints there,
// in place of what an earlier run of the same bench left.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { basename } from 'node:path';

export const isSmall = process.argv.includes('--small');
/** The words of the command line that are not options. */
export const words = process.argv.slice(2).filter((word) => !word.startsWith('--'));

const core = process.env.BENCH_CORE ?? '0';
/** Whether more than one core was given. */
export const hasCores = /[,-]/.test(core);
const pinned = pin() ? `pinned to core ${core}` : 'not pinned to a core';
if (!hasCores) process.env.HALFSPACE_THREADS ??= '1';

export function sized(usual, small) {
  return isSmall ? small : usual;
}

function pin() {
  if (process.platform !== 'linux') return false;
  try {
    execFileSync('taskset', ['-a', '-c', '-p', core, String(process.pid)], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

// --- Timing: contestants take turns, so that noise of the machine falls on all alike.

const WARM_UP_MS = sized(100, 1);

/** Where results go, so that no engine can leave out the work that made them. */
export let sink;

/** A contestant's run: the milliseconds of one call of `work`, which gets the number of the call. */
export function timed(work) {
  return async (call) => {
    const start = performance.now();
    sink = await work(call);
    return performance.now() - start;
  };
}

/** What `work` returns, its seconds by the clock and its CPU seconds. */
export async function measured(work) {
  const [start, before] = [performance.now(), process.cpuUsage()];
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  return { result, seconds: (performance.now() - start) / 1000, cpu: (user + system) / 1e6 };
}

/**
 * Runs contestants `{ name, run }` in turns and adds `ms`, `low` and `high` to each: the median and the
 * middle 80 %. `run` returns a promise of its milliseconds. Each warms up until its engine has compiled
 * it well. Of the calls of a turn, three or `calls`, the first, with cold caches, does not count. Those
 * with `isSlow` have five calls in all.
 */
export async function race(contestants, rounds = 12) {
  const samples = contestants.map(() => []);
  let call = 0;
  for (const { run, isSlow } of contestants) {
    const start = performance.now();
    while (!isSlow && performance.now() - start < WARM_UP_MS) await run(call++);
  }
  for (let round = 0; round < sized(rounds, 1); round++) {
    for (const [i, { run, isSlow, calls = 3 }] of contestants.entries()) {
      if (isSlow && round >= 5) continue;
      for (let j = 0; j < (isSlow ? 1 : calls); j++) {
        const ms = await run(call++);
        if (isSlow || j > 0) samples[i].push(ms);
      }
    }
  }
  return contestants.map((one, i) => ({ ...one, ...summary(samples[i]) }));
}

/** The median as `ms`, and the middle 80 % as `low` and `high`. */
export function summary(samples) {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  return { ms: at(0.5), low: at(0.1), high: at(0.9) };
}

/** How many items, an even number up to `most`, `work(count)` does in about 30 ms. */
export async function pace(work, most) {
  const targetMs = 30;
  for (let count = 2; ; count *= 4) {
    await work(Math.min(count, most));
    const ms = await timed(() => work(Math.min(count, most)))();
    if (count >= most) return { count: most, isSlow: false };
    if (ms < targetMs / 8) continue;
    const paced = Math.max(2, 2 * Math.round((count * targetMs) / ms / 2));
    return { count: Math.min(most, paced), isSlow: ms > 5 * targetMs };
  }
}

// --- Fresh processes, for memory that earlier work has not touched.

/** Runs `script` with a request and returns what it answers. */
export function inChild(script, request) {
  const given = ['--expose-gc', script, ...(isSmall ? ['--small'] : []), JSON.stringify(request)];
  const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] };
  return JSON.parse(execFileSync(process.execPath, given, options));
}

/** In the child: the request; undefined in a script that was started by hand. */
export function request() {
  return words[0]?.startsWith('{') ? JSON.parse(words[0]) : undefined;
}

export function answer(result) {
  process.stdout.write(JSON.stringify(result));
}

/** Bytes of this process that are in memory, after collecting garbage. */
export function resident() {
  for (let i = 0; i < 3; i++) globalThis.gc();
  return process.memoryUsage.rss();
}

/** Forgets the peak of this process up to now; only Linux can. */
export function resetPeak() {
  if (process.platform === 'linux') writeFileSync('/proc/self/clear_refs', '5');
}

/** The most bytes that were in memory since then; elsewhere since the start, an upper bound. */
export function peak() {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024;
  return 1024 * Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
}

// --- Tables.

/** Prints a table; columns of numbers, all after the first `texts`, stand to the right. */
export function printTable(title, head, rows, texts = 1) {
  const cells = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, i) => Math.max(3, ...cells.map((row) => row[i].length)));
  const pad = (text, i) => (i < texts ? text.padEnd(widths[i]) : text.padStart(widths[i]));
  const rule = widths.map((width, i) => `${'-'.repeat(width - 1)}${i < texts ? '-' : ':'}`);
  const lines = [cells[0].map(pad), rule, ...cells.slice(1).map((row) => row.map(pad))];
  console.log(`\n**${title}**\n\n${lines.map((line) => `| ${line.join(' | ')} |`).join('\n')}`);
  keep({ title, head, texts, rows });
}

const FIGURES = process.argv.find((word) => word.startsWith('--json='))?.slice('--json='.length);
/** What this run is kept as: the bench, its machine and versions, and its tables. */
let kept = null;

function keep(table) {
  if (FIGURES === undefined) return;
  kept.tables.push(table);
  const others = existsSync(FIGURES) ? JSON.parse(readFileSync(FIGURES, 'utf8')) : [];
  const runs = [...others.filter(({ bench }) => bench !== kept.bench), kept];
  writeFileSync(FIGURES, `[\n${runs.map((run) => JSON.stringify(run)).join(',\n')}\n]\n`);
}

/** Three significant digits, thousands with commas. */
export function short(value) {
  if (!Number.isFinite(value)) return '-';
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  const options = { maximumFractionDigits: digits, minimumFractionDigits: digits };
  return value.toLocaleString('en-US', options);
}

export function times(value) {
  return `${short(value)} x`;
}

export function span({ low, high }) {
  return `${short(low)}..${short(high)}`;
}

export function bytesText(bytes) {
  if (Math.abs(bytes) < 1000) return `${bytes} B`;
  const units = Object.entries({ GB: 1e9, MB: 1e6, KB: 1e3 });
  const [unit, size] = units.find(([, least]) => Math.abs(bytes) >= least);
  return `${short(bytes / size)} ${unit}`;
}

/** Prints the machine, the engine, the commit, and the versions of rivals in Python. */
export async function announce(python = null) {
  const versions = python === null ? {} : await python.ask('versions');
  const run = {
    bench: [basename(process.argv[1], '.mjs'), ...words].join(' '),
    machine: `${cpus()[0].model.trim()}, ${cpus().length} cores, ${pinned}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    versions: { Node: process.versions.node, ...versions },
    commit: commit(),
    date: new Date().toISOString().slice(0, 10),
  };
  kept = { ...run, tables: [] };
  const line = [
    run.machine,
    ...Object.entries(run.versions).map(([name, version]) => `${name} ${version}`),
    `commit ${run.commit}`,
    run.date,
  ];
  console.log(line.join(', ') + (isSmall ? '; SMALL sizes: figures say nothing' : ''));
}

function commit() {
  const git = (...given) => execFileSync('git', given, { encoding: 'utf8' }).trim();
  try {
    const isChanged = git('status', '--porcelain', '--', ':/src') !== '';
    return git('rev-parse', '--short', 'HEAD') + (isChanged ? ' and changes' : '');
  } catch {
    return 'unknown';
  }
}

/** Ends the run when a rival and we disagree, since a time of wrong answers says nothing. */
export function mustHold(holds, what) {
  if (!holds) throw new Error(`answers differ: ${what}`);
}
