import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { afterAll, expect, it } from 'vitest';
import { openRows } from '../../src/node';

/** Structs that may be null, and whose parts may be: a value has a definition level above 1. */

const folder = mkdtempSync(join(tmpdir(), 'halfspace-structs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const optional = { repetition_type: 'OPTIONAL' } as const;

it('values of a struct are in the rows that have them', async () => {
  const rows = [
    { size: 1.5, count: 1n, name: 'a', inner: { flag: true } },
    null,
    { size: null, count: null, name: null, inner: null },
    { size: 4.5, count: 4n, name: 'd', inner: { flag: null } },
    { size: 5.5, count: null, name: 'e', inner: { flag: false } },
  ];
  const writer = new ByteWriter();
  const output = new ParquetWriter({
    writer,
    schema: [
      { name: 'root', num_children: 1 },
      { name: 'of', ...optional, num_children: 4 },
      { name: 'size', ...optional, type: 'DOUBLE' },
      { name: 'count', ...optional, type: 'INT64' },
      { name: 'name', ...optional, type: 'BYTE_ARRAY', converted_type: 'UTF8' },
      { name: 'inner', ...optional, num_children: 1 },
      { name: 'flag', ...optional, type: 'BOOLEAN' },
    ],
  });
  output.write({ columnData: [{ name: 'of', data: rows }] });
  output.finish();
  const file = join(folder, 'structs.parquet');
  writeFileSync(file, writer.getBytes());
  for await (const batch of await openRows(file)) {
    expect(batch.values('of.size')).toEqual([1.5, null, null, 4.5, 5.5]);
    expect(batch.values('of.count')).toEqual([1n, null, null, 4n, null]);
    expect(batch.values('of.name')).toEqual(['a', null, null, 'd', 'e']);
    expect(batch.values('of.inner.flag')).toEqual([true, null, null, null, false]);
  }
});
