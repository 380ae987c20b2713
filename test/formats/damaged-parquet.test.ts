import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { snappyUncompress } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeSnappy } from '../../src/formats/parquet/pages';
import { createRows, FormatError, openRows, RowBatch } from '../../src/node';
import { withChild } from '../table/in-child';
import type { Seen } from './damaged-parquet.child';

const fixtures = fileURLToPath(new URL('../fixtures/formats/', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'halfspace-parquet-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SEED = 20_261_122;
const MB = 2 ** 20;

/** A file of ours, and those of others. */
beforeAll(async () => {
  for (const name of readdirSync(fixtures).filter((one) => one.endsWith('.parquet'))) {
    cpSync(join(fixtures, name), join(folder, name));
  }
  const writer = await createRows(join(folder, 'ours.parquet'));
  const text = Array.from({ length: 300 }, (_, i) => `row ${i % 7}`);
  const values = Float32Array.from({ length: 1200 }, (_, i) => Math.sin(i));
  await writer.write(
    RowBatch.of({ text, size: text.map((one) => one.length), v: { values, dimensions: 4 } }),
  );
  await writer.close();
});

async function sweep(changes: string, timeoutMs: number): Promise<Seen> {
  return withChild('../formats/damaged-parquet.child.ts', async (run) => {
    const nodeOptions = ['--max-old-space-size=400'];
    const { stdout, death, note } = await run({
      nodeOptions,
      args: [folder, String(SEED), changes],
      timeoutMs,
    });
    if (death !== null) throw new Error(`${death} at ${note}`);
    return JSON.parse(stdout) as Seen;
  });
}

describe('a Parquet file with a byte changed', () => {
  it('is read or refused by name, in little time and memory', {
    tags: 'thorough',
    timeout: 150_000,
  }, async () => {
    const seen = await sweep('150', 120_000);
    expect(seen.failures).toEqual([]);
    expect(seen.refused).toBeGreaterThan(300);
    expect(seen.peakBytes).toBeLessThan(700 * MB);
  });

  it('is so after many more changes', { tags: 'full', timeout: 600_000 }, async () => {
    const seen = await sweep('500', 590_000);
    expect(seen.failures).toEqual([]);
    expect(seen.tried).toBeGreaterThan(5000);
    expect(seen.peakBytes).toBeLessThan(900 * MB);
  });
});

/** A file of one column, which hyparquet-writer makes. */
function fileOf(data: unknown[], more: object): Uint8Array {
  const writer = new ByteWriter();
  const parquet = new ParquetWriter({
    writer,
    schema: [{ name: 'root', num_children: 1 }, { name: 'a', ...more } as never],
  });
  parquet.write({ columnData: [{ name: 'a', data }], rowGroupSize: data.length });
  parquet.finish();
  return writer.getBytes();
}

async function failure(name: string, bytes: Uint8Array): Promise<Error> {
  writeFileSync(join(folder, name), bytes);
  try {
    for await (const _ of await openRows(join(folder, name)));
  } catch (error) {
    return error as Error;
  }
  throw new Error('it was read');
}

describe('a Parquet file of few bytes', () => {
  it('may not claim rows that take gigabytes', { tags: 'thorough' }, async () => {
    const bytes = fileOf(new Array(6_000_000).fill(7), {
      type: 'INT32',
      repetition_type: 'OPTIONAL',
    });
    expect(bytes.length).toBeLessThan(20_000);
    const error = await failure('constant.bin', bytes);
    expect(error).toBeInstanceOf(FormatError);
    expect(error.message).toContain(
      'constant.bin: cannot be read as Parquet: rows that take far more memory',
    );
  });

  it('may not repeat a long text of its dictionary without bound', async () => {
    const bytes = fileOf(new Array(100_000).fill('x'.repeat(10_000)), {
      type: 'BYTE_ARRAY',
      converted_type: 'UTF8',
      repetition_type: 'REQUIRED',
    });
    expect(bytes.length).toBeLessThan(200_000);
    expect((await failure('texts.bin', bytes)).message).toContain('rows that take far more memory');
  });

  it('may not have a footer beyond it, or none', async () => {
    const sound = Buffer.from(readFileSync(join(folder, 'ours.parquet')));
    const claim = Buffer.from(sound);
    claim.writeUInt32LE(0x7fff_ffff, sound.length - 8);
    expect((await failure('claim.parquet', claim)).message).toContain(
      'a footer of 2147483647 bytes cannot be',
    );
    expect((await failure('cut.parquet', sound.subarray(0, -9))).message).toContain(
      'ends with "PAR1"',
    );
    expect((await failure('short.parquet', Buffer.from('PAR1PAR1'))).message).toContain(
      'cut short',
    );
  });
});

describe('Snappy blocks', () => {
  const block = (hex: string) => Uint8Array.from(Buffer.from(hex, 'hex'));

  it('are what another decoder makes of them', () => {
    // A literal of 5 bytes, then copies with offsets of 1, 2 and 4 bytes, one of them overlapping.
    const bytes = block('1810616263646505051a03001705000000');
    const out = new Uint8Array(5 + 5 + 7 + 6);
    snappyUncompress(bytes, out);
    expect(decodeSnappy(bytes, out.length)).toEqual(out);
  });

  it('are refused where they are cut, too long, or lead out of themselves', () => {
    expect(() => decodeSnappy(block('0510616263'), 5)).toThrow('more than 5 bytes');
    expect(() => decodeSnappy(block('050061050'.padEnd(10, '9')), 5)).toThrow('before its start');
    expect(() => decodeSnappy(block('020061'), 2)).toThrow('of 1 bytes, 2 were expected');
    // A literal of 2 ** 32 bytes.
    expect(() => decodeSnappy(block('05fcffffffff00'), 5)).toThrow('more than 5 bytes');
  });
});
