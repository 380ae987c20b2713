import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { afterAll, expect, it } from 'vitest';
import { openRows } from '../../src/node';

/** Columns that hyparquet-writer makes: structs that may be null, and whose parts may be; times. */

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

const time = { type: 'TIME', isAdjustedToUTC: false } as const;

it.each([
  ['milliseconds, by the old annotation', 3, { type: 'INT32', converted_type: 'TIME_MILLIS' }],
  ['microseconds, by the old annotation', 6, { type: 'INT64', converted_type: 'TIME_MICROS' }],
  ['milliseconds', 3, { type: 'INT32', logical_type: { ...time, unit: 'MILLIS' } }],
  ['nanoseconds', 9, { type: 'INT64', logical_type: { ...time, unit: 'NANOS' } }],
] as const)('times of day are texts, as those of Arrow are: in %s', async (name, digits, given) => {
  const writer = new ByteWriter();
  const element = { name: 'at', ...optional, ...given };
  const output = new ParquetWriter({
    writer,
    schema: [{ name: 'root', num_children: 1 }, element],
  });
  // 13:05:09 and half a second.
  const units = (13 * 3600 + 5 * 60 + 9.5) * 10 ** digits;
  const value = given.type === 'INT64' ? BigInt(units) : units;
  output.write({ columnData: [{ name: 'at', data: [value, null] }] });
  output.finish();
  const file = join(folder, `${name}.parquet`);
  writeFileSync(file, writer.getBytes());
  for await (const batch of await openRows(file)) {
    expect(batch.values('at')).toEqual([`13:05:09.${'5'.padEnd(digits, '0')}`, null]);
  }
});

it('a time of UTC has a Z, as one of Arrow has, and a local time has none', async () => {
  const writer = new ByteWriter();
  const of = (name: string, isAdjustedToUTC: boolean) => {
    const logical_type = { type: 'TIMESTAMP', isAdjustedToUTC, unit: 'MILLIS' } as const;
    return { name, ...optional, type: 'INT64', logical_type } as const;
  };
  const schema = [{ name: 'root', num_children: 2 }, of('utc', true), of('local', false)];
  const output = new ParquetWriter({ writer, schema });
  const data = [1_700_000_000_123n, null];
  output.write({
    columnData: [
      { name: 'utc', data },
      { name: 'local', data },
    ],
  });
  output.finish();
  const file = join(folder, 'instants.parquet');
  writeFileSync(file, writer.getBytes());
  for await (const batch of await openRows(file)) {
    expect(batch.values('utc')).toEqual(['2023-11-14T22:13:20.123Z', null]);
    expect(batch.values('local')).toEqual(['2023-11-14T22:13:20.123', null]);
  }
});
