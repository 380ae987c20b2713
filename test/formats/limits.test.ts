import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openRecords } from '../../src/formats/open-rows';
import { FormatError, type OpenRowsOptions, openRows, type RowBatch } from '../../src/node';

const folder = mkdtempSync(join(tmpdir(), 'halfspace-limits-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function written(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

async function batchesOf(file: string, options?: OpenRowsOptions): Promise<RowBatch[]> {
  const batches: RowBatch[] = [];
  for await (const batch of await openRows(file, options)) batches.push(batch);
  return batches;
}

// It said "Maximum call stack size exceeded".
it('values that are nested too deeply are an error with their line', async () => {
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  const file = written('deep.jsonl', `{"t":"a"}\n{"t":"b","x":${deep}}\n`);
  const error = await batchesOf(file).catch((cause) => cause);
  expect(error).toBeInstanceOf(FormatError);
  expect(error.message).toBe(`${file}: line 2: values are nested too deeply to be read`);
});

describe('rows of many columns', () => {
  // 78 KB took 12 s and 591 MB in 0.1: a value of each of 5,000 columns for each of 5,000 rows.
  it('come in batches that are small whatever the number of columns', {
    tags: 'thorough',
  }, async () => {
    const count = 3000;
    const lines = Array.from({ length: count }, (_, i) => `{"k${i}":${i}}\n`);
    let rows = 0;
    for await (const batch of await openRows(written('keys.jsonl', lines.join('')))) {
      expect(batch.columns).toHaveLength(count);
      expect(batch.byteLength).toBeLessThan(2 ** 24);
      const row = batch.values(`k${rows}`)[0];
      expect(row).toBe(BigInt(rows));
      rows += batch.count;
    }
    expect(rows).toBe(count);
  });

  it('are refused above the limit', async () => {
    const names = Array.from({ length: 100_001 }, (_, i) => `c${i}`);
    const files = [
      written('many.csv', `${names.join()}\n`),
      written('many.jsonl', `{${names.map((name) => `"${name}":1`).join()}}\n`),
    ];
    for (const file of files) {
      const error = await batchesOf(file).catch((cause) => cause);
      expect(error).toBeInstanceOf(FormatError);
      expect(error.message).toBe(`${file}: more than 100000 columns`);
    }
  });
});

describe('a long line', () => {
  const long = 'x'.repeat(3_000_000);
  const files = {
    'a.csv': `a\nx\n"${long}"\n`,
    'a.jsonl': `{"a":"1"}\n{"a":"${long}"}\n`,
    'a.txt': `1\n${long}\n`,
  };

  it.each(Object.entries(files))(
    '%s is refused above the limit, by its number',
    async (name, text) => {
      const file = written(name, text);
      const line = name === 'a.csv' ? 3 : 2;
      for (const maxLineBytes of [2_999_000, 1000]) {
        const error = await openRecords(file, {}, { maxLineBytes })
          .then((reader) => reader.read(async () => undefined))
          .catch((cause) => cause);
        expect(error).toBeInstanceOf(FormatError);
        expect(error.message).toContain(`line ${line}: `);
        expect(error.message).toContain(`more than ${maxLineBytes} bytes`);
      }
      const batches = await batchesOf(file);
      expect(batches.reduce((sum, batch) => sum + batch.count, 0)).toBe(2);
    },
  );
});
