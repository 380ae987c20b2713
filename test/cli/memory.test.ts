// @module-tag full
// The memory of the command is bounded by batches where it streams, and by the longest text.

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
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRows, RowBatch } from '../../src/node';
import { Draws } from '../reference/random';
import { runChild } from './run';

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

/** Runs the command on one thread; resolves to the bytes that it took at most. */
async function peakOf(...words: string[]): Promise<number> {
  const args = [...words, '--threads', '1', '-q', '--force'];
  const outcome = await runChild(args, { env: ENV, limitMilliseconds: 120_000 });
  expect(outcome).toMatchObject({ code: 0, stderr: '' });
  return 1024 * Number(readFileSync(at('peak'), 'utf8'));
}

beforeAll(() => writeFileSync(at('peak.mjs'), PEAK));

describe.runIf(process.platform === 'linux')('fingerprint', () => {
  const DIMENSIONS = 128;

  beforeAll(async () => {
    const draws = new Draws('rows');
    const draw = () => draws.integer(20_000) / 10_000 - 1;
    for (const [name, rows] of [
      ['few', 20_000],
      ['many', 160_000],
    ] as const) {
      for (const format of ['jsonl', 'arrow']) {
        const file = await createRows(at(`${name}.${format}`));
        for (let first = 0; first < rows; first += 4000) {
          const values = Float32Array.from({ length: 4000 * DIMENSIONS }, draw);
          await file.write(RowBatch.of({ vector: { values, dimensions: DIMENSIONS } }));
        }
        await file.close();
      }
    }
  }, 300_000);

  it.each(['jsonl', 'arrow'])(
    'takes the same memory for eight times the rows of .%s',
    {
      timeout: 120_000,
    },
    async (format) => {
      const peak = (name: string) => {
        return peakOf('fingerprint', at(`${name}.${format}`), '-o', at('codes.arrow'));
      };
      const more = (await peak('many')) - (await peak('few'));
      expect(statSync(at(`many.${format}`)).size).toBeGreaterThan(64 * 2 ** 20);
      expect(more).toBeLessThan(32 * 2 ** 20);
    },
  );
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
        const some = Array.from({ length: count }, () => words[draws.integer(50_000)]);
        writeSync(file, `${some.join(' ')} `);
      }
      writeSync(file, '"}\n');
    }
    closeSync(file);
  }, 120_000);

  it.each([
    ['dedup', 'plan.jsonl'],
    ['index', 'index.hs'],
  ])('is held by %s in less than 1.2 GB', { timeout: 130_000 }, async (verb, out) => {
    const peak = await peakOf(verb, at('one.jsonl'), '-o', at(out));
    expect(statSync(at('one.jsonl')).size).toBeGreaterThan(104 * 2 ** 20);
    expect(peak).toBeLessThan(1.2 * 2 ** 30);
  });
});
