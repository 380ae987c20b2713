// @module-tag full
// The peak of memory that --max-memory predicts is within 20 % of the peak of the same run. Sizes
// are such that rows, or what reading them holds, outweigh the program; runs have one thread, where
// they do not name more.

import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRows, RowBatch } from '../../src/node';
import { Draws } from '../reference/random';
import { run } from './run';

/** The prediction may be off by this factor, in both directions. */
const MOST = 1.2;
/** The first sentence, which may say "at least", may be below the peak by this factor. */
const MOST_AT_FIRST = 1.3;
/** A first run that is nearer than this is not repeated; of others the median of these runs counts. */
const NEAR = 1.15;
const RUNS = 3;
const UNITS: Record<string, number> = { KB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30 };

const folder = mkdtempSync(join(tmpdir(), 'halfspace-memory-'));
const at = (name: string) => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Loaded into the command: writes its own peak, in KB, to a file when it exits. */
const PEAK = `
import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
if (isMainThread) process.on('exit', () => {
  const [, peak] = /VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'));
  writeFileSync(process.env.PEAK_FILE, peak);
});`;

const ENV = { NODE_OPTIONS: `--import=${at('peak.mjs')}`, PEAK_FILE: at('peak') };
/** Bytes that the last run with ENV took at most. */
const peakOfLast = () => 1024 * Number(readFileSync(at('peak'), 'utf8'));

/** Writes a file of rows in some formats; each batch is made once for each of them. */
async function write(
  name: string,
  { rows, formats }: { rows: number; formats: readonly string[] },
  batchOf: (draws: Draws, first: number, count: number) => RowBatch,
): Promise<void> {
  for (const format of formats) {
    const draws = new Draws(name);
    const file = await createRows(at(`${name}.${format}`));
    for (let first = 0; first < rows; first += 4096) {
      await file.write(batchOf(draws, first, Math.min(4096, rows - first)));
    }
    await file.close();
  }
}

/** Vectors of so many numbers of four digits, with ids that are numbers or texts. */
function vectors(dimensions: number, areNumbers: boolean) {
  return (draws: Draws, first: number, count: number) => {
    const draw = () => draws.integer(20_000) / 10_000 - 1;
    const values = Float32Array.from({ length: count * dimensions }, draw);
    const ids = Array.from({ length: count }, (_, i) => first + i);
    const id = areNumbers ? Int32Array.from(ids) : ids.map((one) => `row-${one}`);
    return RowBatch.of({ id, vector: { values, dimensions } });
  };
}

/** Texts of so many words of 20,000, of which every fifth is a copy of the one before. */
function texts(words: number) {
  const spell = new Draws('words');
  const letter = () => String.fromCharCode(97 + spell.integer(26));
  const vocabulary = Array.from({ length: 20_000 }, () => {
    return Array.from({ length: 3 + spell.integer(8) }, letter).join('');
  });
  let last = '';
  return (draws: Draws, first: number, count: number) => {
    const word = () => vocabulary[Math.floor(draws.uniform() * draws.uniform() * 20_000)];
    const next = () => {
      if (last === '' || draws.uniform() > 0.2)
        last = Array.from({ length: words }, word).join(' ');
      return last;
    };
    const text = Array.from({ length: count }, next);
    return RowBatch.of({ id: text.map((_, i) => `doc-${first + i}`), text });
  };
}

/** Texts of 300 words of a million, of which most are new. */
function richTexts(draws: Draws, first: number, count: number): RowBatch {
  const word = () => Math.floor(draws.uniform() * draws.uniform() * 1e6).toString(36);
  const text = Array.from({ length: count }, () => Array.from({ length: 300 }, word).join(' '));
  return RowBatch.of({ id: text.map((_, i) => `doc-${first + i}`), text });
}

/**
 * A ZSTD frame by RFC 8878 of raw blocks, Node 20 writes none, with a window of 1 KB times a power
 * of two. As of a file its header states its bytes, as of a stream it does not.
 */
function zstdOf(bytes: Uint8Array, windowLog: number, isStated = true): Uint8Array {
  const size = Buffer.alloc(isStated ? 4 : 0);
  if (isStated) size.writeUInt32LE(bytes.length);
  const header = [isStated ? 0x80 : 0, windowLog << 3, ...size];
  const parts: Uint8Array[] = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, ...header])];
  for (let from = 0; from < bytes.length; from += 2 ** 17) {
    const block = bytes.subarray(from, from + 2 ** 17);
    const isLast = from + block.length === bytes.length ? 1 : 0;
    const header = Buffer.alloc(4);
    header.writeUInt32LE(isLast | (block.length << 3));
    parts.push(header.subarray(0, 3), block);
  }
  return Buffer.concat(parts);
}

/** A matrix as .npy, with the values of an Arrow file's rows. */
async function writeNpy(name: string, rows: number, dimensions: number): Promise<void> {
  const made = vectors(dimensions, true)(new Draws(name), 0, rows);
  const { values } = made.vectors('vector');
  const shape = `{'descr': '<f4', 'fortran_order': False, 'shape': (${rows}, ${dimensions}), }`;
  const header = `${shape.padEnd(117)}\n`;
  const magic = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length, 0]);
  const bytes = Buffer.from(Float32Array.from(values).buffer);
  writeFileSync(at(name), Buffer.concat([magic, Buffer.from(header), bytes]));
}

beforeAll(async () => {
  writeFileSync(at('peak.mjs'), PEAK);
  await write('narrow', { rows: 200_000, formats: ['arrow'] }, vectors(32, true));
  await writeNpy('narrow.npy', 200_000, 32);
  await write('wide', { rows: 50_000, formats: ['arrow', 'parquet'] }, vectors(256, false));
  await writeNpy('wide.npy', 50_000, 256);
  await write('vectors', { rows: 30_000, formats: ['csv', 'jsonl'] }, vectors(64, false));
  await write('short', { rows: 40_000, formats: ['arrow', 'parquet', 'csv', 'jsonl'] }, texts(100));
  await write('rich', { rows: 20_000, formats: ['jsonl'] }, richTexts);
  await write('long', { rows: 4000, formats: ['arrow', 'jsonl'] }, texts(1000));
  for (const name of ['vectors.csv', 'short.jsonl', 'wide.arrow', 'short.parquet']) {
    writeFileSync(at(`${name}.gz`), gzipSync(readFileSync(at(name)), { level: 1 }));
  }
  for (const name of ['vectors.csv', 'short.jsonl', 'wide.npy']) {
    writeFileSync(at(`${name}.zst`), zstdOf(readFileSync(at(name)), 11));
  }
  writeFileSync(at('stream.jsonl.zst'), zstdOf(readFileSync(at('short.jsonl')), 14, false));
  writeFileSync(at('window.jsonl.zst'), zstdOf(readFileSync(at('short.jsonl')), 17, false));
  const lines = readFileSync(at('short.jsonl'), 'utf8').trimEnd().split('\n');
  writeFileSync(at('lines.txt'), lines.map((line) => `${JSON.parse(line).text}\n`).join(''));
}, 300_000);

interface Measured {
  /** Bytes by the first prediction, which may say that more is not known yet. */
  readonly atLeast: number;
  /** Bytes by the last prediction. */
  readonly predicted: number;
  readonly peak: number;
}

/** Runs the command with a limit; output goes to a name that is removed again. */
async function measured(args: readonly string[], limit: string): Promise<Measured> {
  const [verb, file, ...options] = args;
  const out = at(OUTPUTS[verb]);
  const threads = options.includes('--threads') ? [] : ['--threads', '1'];
  const words = [verb, at(file), ...options, ...threads, '--max-memory', limit, '-o', out];
  const { code, stderr } = await run(words, { env: ENV, limitMilliseconds: 120_000 });
  expect(stderr).toMatch(/rows need/);
  expect(code).toBe(0);
  rmSync(out, { recursive: true });
  const said = [...stderr.matchAll(/rows need (?:at least )?([\d.]+) (.B) \(/g)];
  const bytes = said.map(([, size, unit]) => Number(size) * UNITS[unit]);
  return { atLeast: bytes[0], predicted: bytes[bytes.length - 1], peak: peakOfLast() };
}

const OUTPUTS: Record<string, string> = {
  ...{ fingerprint: 'codes.arrow', dedup: 'plan.jsonl', index: 'index.hs' },
  cluster: 'clusters.jsonl',
};

const CASES = [
  ['fingerprint', 'vectors.csv', '--vector', 'vector'],
  ['fingerprint', 'vectors.csv.gz', '--vector', 'vector'],
  ['fingerprint', 'vectors.csv.zst', '--vector', 'vector'],
  ['fingerprint', 'vectors.jsonl'],
  ['fingerprint', 'wide.parquet'],
  ['fingerprint', 'wide.arrow.gz'],
  ['fingerprint', 'long.arrow'],
  ['dedup', 'short.parquet.gz'],
  ['dedup', 'narrow.arrow', '--max-distance', '3'],
  ['dedup', 'narrow.npy', '--max-distance', '3'],
  ['dedup', 'wide.npy.zst', '--max-distance', '3'],
  ['dedup', 'wide.parquet', '--max-distance', '3'],
  ['dedup', 'vectors.jsonl', '--max-distance', '3'],
  ['dedup', 'short.arrow'],
  ['dedup', 'short.parquet'],
  ['dedup', 'short.csv'],
  ['dedup', 'short.jsonl'],
  ['dedup', 'short.jsonl.gz'],
  ['dedup', 'short.jsonl.zst'],
  ['dedup', 'stream.jsonl.zst'],
  ['dedup', 'lines.txt'],
  ['dedup', 'long.jsonl'],
  ['index', 'narrow.arrow'],
  ['index', 'narrow.npy', '--vectors', 'float32'],
  ['index', 'wide.arrow', '--vectors', 'float32'],
  ['index', 'wide.parquet', '--vectors', 'float32'],
  ['index', 'short.csv'],
  ['index', 'short.jsonl', '--vectors', 'sparse', '--columns', 'none'],
  ['dedup', 'wide.arrow', '--min-cosine', '.9'],
  ['cluster', 'narrow.npy', '--clusters', '20'],
  ['cluster', 'narrow.npy', '--clusters', '20', '--by', 'codes'],
  ['cluster', 'vectors.csv', '--vector', 'vector', '--density'],
  ['cluster', 'short.jsonl', '--clusters', '20'],
  ['cluster', 'short.csv', '--clusters', '20', '--by', 'accumulators'],
  // Several threads, of few distinct words and of many.
  ['fingerprint', 'short.jsonl', '--threads', '2'],
  ['fingerprint', 'rich.jsonl', '--threads', '2'],
  ['dedup', 'long.jsonl', '--threads', '2'],
  ['cluster', 'narrow.npy', '--clusters', '20', '--threads', '2'],
].map((args) => ({ words: args.join(' '), args }));

describe.runIf(process.platform === 'linux')('the peak that --max-memory predicts', () => {
  it.each(CASES)(
    'is within 20 % of that of $words',
    { timeout: 120_000 },
    async ({ words, args }) => {
      const first = await measured(args, '8G');
      const { predicted, atLeast } = first;
      // What is known before rows are compared is not far from the peak either.
      expect(atLeast).toBeLessThanOrEqual(predicted);
      const peaks = [first.peak];
      const isNear = Math.max(first.peak / predicted, predicted / first.peak) < NEAR;
      // The limit is just above what was said, rounded: it is kept by the run that is measured.
      const limit = `${Math.ceil((1.01 * predicted) / 2 ** 20)}M`;
      while (!isNear && peaks.length < RUNS) peaks.push((await measured(args, limit)).peak);
      const peak = peaks.sort((a, b) => a - b)[peaks.length >> 1];
      const ratio = peak / predicted;
      console.log(
        words,
        ratio.toFixed(2),
        peaks.map((one) => one >> 20),
      );
      expect(ratio, words).toBeGreaterThan(1 / MOST);
      expect(ratio, words).toBeLessThan(MOST);
      expect(atLeast, words).toBeGreaterThan(peak / MOST_AT_FIRST);
    },
  );

  it('is refused before the work where the limit is below', async () => {
    const args = ['dedup', at('short.jsonl.gz'), '--threads', '1', '-o', at('no.jsonl')];
    const { code, stderr } = await run([...args, '--max-memory', '100M']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/about 4\d,\d{3} rows need at least .*, more than --max-memory 100 MB/);
  });

  it.each([
    // One and a half times its window of 128 MB.
    ['window.jsonl.zst', 85],
    // The schema of Arrow files and Parquet is at their end.
    ['wide.arrow.gz', 115],
    ['short.parquet.gz', 115],
  ])('is not taken of %s where the limit is below: at most %i MB', async (name, most) => {
    const args = ['dedup', at(name), '--max-distance', '3', '--max-memory', '100M'];
    const { code, stderr } = await run([...args, '-o', at('no.jsonl')], { env: ENV });
    expect(stderr).toMatch(`${at(name)}: it needs at least `);
    expect(stderr).toMatch(/\(program .*, reading .*\), more than --max-memory 100 MB: /);
    expect(code).toBe(1);
    expect(peakOfLast()).toBeLessThan(most * 2 ** 20);
  });
});

describe.runIf(process.platform === 'linux')('a text of 104 MB', () => {
  beforeAll(() => {
    const draws = new Draws('long text');
    const words = Array.from({ length: 50_000 }, () => draws.integer(2 ** 30).toString(36));
    const lengthOf = (id: number) => (id === 20 ? 16_000_000 : 300);
    const file = openSync(at('one.jsonl'), 'w');
    for (let id = 0; id < 40; id++) {
      writeSync(file, `{"id":${id},"text":"`);
      for (let left = lengthOf(id); left > 0; left -= 100_000) {
        const count = Math.min(left, 100_000);
        writeSync(
          file,
          `${Array.from({ length: count }, () => words[draws.integer(50_000)]).join(' ')} `,
        );
      }
      writeSync(file, '"}\n');
    }
    closeSync(file);
  }, 120_000);

  it.each(['dedup', 'index'])(
    'is held by %s in less than 1.2 GB',
    { timeout: 130_000 },
    async (verb) => {
      const { peak, predicted } = await measured([verb, 'one.jsonl'], '8G');
      console.log(verb, 'one.jsonl', (peak / predicted).toFixed(2), peak >> 20);
      expect(statSync(at('one.jsonl')).size).toBeGreaterThan(104 * 2 ** 20);
      expect(peak).toBeLessThan(1.2 * 2 ** 30);
      expect(peak / predicted).toBeLessThan(MOST);
      expect(peak / predicted).toBeGreaterThan(1 / MOST);
    },
  );
});

describe.runIf(process.platform === 'linux')('a long text behind the first rows', () => {
  beforeAll(() => {
    const line = (id: number, words: number) =>
      `${JSON.stringify({ id, text: `word-${id} `.repeat(words) })}\n`;
    const file = openSync(at('late.jsonl'), 'w');
    for (let id = 0; id < 20_000; id++) writeSync(file, line(id, 40));
    writeSync(file, line(20_000, 5_000_000));
    writeSync(file, line(20_001, 40));
    closeSync(file);
  });

  it.each([
    ['fingerprint', '250M'],
    ['dedup', '300M'],
    ['pairs', '300M'],
    ['index', '330M'],
    ['cluster --clusters 3', '300M'],
  ])('is refused by %s where it is met', { timeout: 120_000 }, async (verb, limit) => {
    const out = at(OUTPUTS[verb.split(' ')[0]] ?? 'pairs.jsonl');
    const words = [...verb.split(' '), at('late.jsonl'), '--threads', '1', '-o', out];
    const { code, stderr } = await run([...words, '--max-memory', limit]);
    expect(stderr).toMatch(/ rows need .* of at most .*[\s\S]*more than --max-memory/);
    expect(code).toBe(1);
  });
});
