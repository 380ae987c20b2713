// Tables in Markdown on stdout; whatever is not a result goes to stderr.

import { execFileSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import { pinned } from './one-core.mjs';

/** Prints a table; columns of numbers, all after the first `texts`, stand to the right. */
export function printTable(title, head, rows, texts = 1) {
  const cells = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, i) => Math.max(3, ...cells.map((row) => row[i].length)));
  const pad = (text, i) => (i < texts ? text.padEnd(widths[i]) : text.padStart(widths[i]));
  const rule = widths.map((width, i) => `${'-'.repeat(width - 1)}${i < texts ? '-' : ':'}`);
  const lines = [cells[0].map(pad), rule, ...cells.slice(1).map((row) => row.map(pad))];
  console.log(`\n**${title}**\n\n${lines.map((line) => `| ${line.join(' | ')} |`).join('\n')}`);
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
  const [unit, size] = [
    ['GB', 1e9],
    ['MB', 1e6],
    ['KB', 1e3],
  ].find(([, least]) => Math.abs(bytes) >= least);
  return `${short(bytes / size)} ${unit}`;
}

/** Says on what all this runs; run-all.mjs has said so for its scripts. */
export async function announce(python = null) {
  if (!process.env.HALFSPACE_BENCH_ALL) console.log(await machineLine(python));
}

/** The machine, the engine, the state of the source and the rivals' versions. */
export async function machineLine(python) {
  const [{ model }] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  const versions = python === null ? {} : await python.ask('versions');
  return [
    ...[
      model.trim(),
      `${cpus().length} cores`,
      pinned,
      `${memory} GiB`,
      `${process.platform} ${process.arch}`,
    ],
    ...[`Node ${process.versions.node}`, `V8 ${process.versions.v8}`],
    ...Object.entries(versions).map(([name, version]) => `${name} ${version}`),
    ...[`commit ${commit()}`, new Date().toISOString().slice(0, 10)],
  ].join(', ');
}

function commit() {
  const git = (...words) => execFileSync('git', words, { encoding: 'utf8' }).trim();
  try {
    const isChanged = git('status', '--porcelain', '--', ':/src') !== '';
    return git('rev-parse', '--short', 'HEAD') + (isChanged ? ' and changes' : '');
  } catch {
    return 'unknown';
  }
}

/** A mark that the issue sets, `least` or `most`, and whether this run passed it. */
export function mark(what, value, { least, most }) {
  const isPassed = least === undefined ? value <= most : value >= least;
  const limit = least === undefined ? `at most ${short(most)}` : `at least ${short(least)}`;
  console.log(`\nMark: ${what}, ${limit}: ${short(value)}, ${isPassed ? 'passed' : '**MISSED**'}.`);
}

/** Ends the run when a rival and we disagree, since a time of wrong answers says nothing. */
export function mustHold(holds, what) {
  if (!holds) throw new Error(`answers differ: ${what}`);
}
