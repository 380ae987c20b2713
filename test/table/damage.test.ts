import { readdirSync, readFileSync } from 'node:fs';
import {
  Decimal,
  Field,
  IntervalDayTime,
  makeData,
  RecordBatch,
  Table,
  tableFromIPC,
  tableToIPC,
} from 'apache-arrow';
import { beforeAll, describe, expect, it } from 'vitest';
import xxhash from 'xxhash-wasm';
import { concatenated } from '../../src/base/arrays';
import { FormatError } from '../../src/base/check';
import { Codes } from '../../src/codes/codes';
import { arrowWriter } from '../../src/table/arrow/writer';
import { type CodesWithIds, codesFromArrow, codesToArrow } from '../../src/table/from-arrow';
import { RowBatch } from '../../src/table/row-batch';
import { openTable } from '../../src/table/sealed/sealed-table';
import { mapFile, SLOTS, viewOf } from './arrow-map';
import type { Sweep } from './damage.child';
import type { HostileOutcome } from './hostile.child';
import { runInChild, withChild } from './in-child';

/** What a file may make a reader ask for beyond what it holds, and how long an open may take. */
const LIMIT_BYTES = 1 << 20;
const LIMIT_RATIO = 16;
const LIMIT_MS = 2000; // thousands of times what it takes, for a busy machine

const SMALL_HEAP = ['--max-old-space-size=64'];
const fixtures = new URL('../fixtures/', import.meta.url);
const folder = new URL('golden/', fixtures);
const golden = readdirSync(folder).filter((name) => name.endsWith('.arrow'));

interface Expected {
  bits: number;
  origin: object;
  ids: string[];
  codes: (string | null)[];
}

function open(name: string): { bytes: Uint8Array; expected: Expected } {
  const json = new URL(name.replace(/\.arrow$/, '.json'), folder);
  return {
    bytes: Uint8Array.from(readFileSync(new URL(name, folder))),
    expected: JSON.parse(readFileSync(json, 'utf8')),
  };
}

/** What was read, in the words of the JSON next to a golden file. */
function summaryOf({ codes, ids }: CodesWithIds): Expected {
  const { bits, origin, count } = codes;
  const hex = (row: number) => Buffer.from(codes.at(row)).toString('hex');
  const rows = Array.from({ length: count }, (_, row) => (codes.isNull(row) ? null : hex(row)));
  return { bits, origin: origin as object, ids: Array.from(ids ?? [], String), codes: rows };
}

function refusal(read: () => unknown): FormatError {
  try {
    read();
  } catch (error) {
    expect(error).toBeInstanceOf(FormatError);
    return error as FormatError;
  }
  throw new Error('nothing was refused');
}

/** Puts one text in the place of another of the same length, wherever it is. */
function replaceText(bytes: Uint8Array, from: string, to: string): Uint8Array {
  expect(to.length).toBe(from.length);
  const text = Buffer.from(bytes).toString('latin1');
  expect(text).toContain(from);
  return Uint8Array.from(Buffer.from(text.replaceAll(from, to), 'latin1'));
}

describe('golden files, one for each version of the format', () => {
  it('are there, with one of this version', () => {
    const codes = Codes.allocate(1, { bits: 8 });
    const header = tableFromIPC(codesToArrow(codes)).schema.metadata.get('halfspace') ?? '';
    expect(golden).toContain(`codes-v${JSON.parse(header).version}.arrow`);
  });

  it.each(golden)('load for ever: %s', (name) => {
    const { bytes, expected } = open(name);
    expect(summaryOf(codesFromArrow(bytes))).toEqual(expected);
  });

  it.each(golden)('load as a stream and as a table: %s', (name) => {
    const { bytes, expected } = open(name);
    const table = tableFromIPC(bytes);
    expect(summaryOf(codesFromArrow(tableToIPC(table, 'stream')))).toEqual(expected);
    expect(summaryOf(codesFromArrow(table))).toEqual(expected);
  });

  it('have the checksums as docs/format.md defines them', async () => {
    const { h64Raw } = await xxhash();
    const hex = (hash: bigint) => hash.toString(16).padStart(16, '0');
    const { bytes } = open('codes-v1.arrow');
    const { schema, batches } = tableFromIPC(bytes);
    const header = schema.metadata.get('halfspace') ?? '';
    const seal = JSON.parse(batches[0].metadata.get('halfspace') ?? '');
    const fields = '[["id","Utf8",false],["code","FixedSizeBinary[3]",true]]';
    expect(seal.schema).toBe(hex(h64Raw(new TextEncoder().encode(header + fields))));
    const [id, code] = batches[0].data.children;
    const offsets = id.valueOffsets.slice(0, 21);
    const text = id.values.slice(offsets[0], offsets[20]);
    const ids = h64Raw(text, h64Raw(new Uint8Array(offsets.buffer)));
    const bitmap = code.nullBitmap.slice(0, 3);
    expect(bitmap[2] >> 4).toBe(0);
    const codes = h64Raw(code.values.slice(0, 60), h64Raw(bitmap));
    expect(seal.columns).toEqual([hex(ids), hex(codes)]);
  });
});

describe('a file of our own that was cut', () => {
  it.each(golden)('is refused at every length, with the name that was given: %s', (name) => {
    const { bytes } = open(name);
    for (let length = 0; length < bytes.length; length++) {
      const error = refusal(() => codesFromArrow(bytes.slice(0, length), { file: 'a/cut.arrow' }));
      expect(error.message.startsWith('a/cut.arrow: ')).toBe(true);
      expect(error.file).toBe('a/cut.arrow');
      // Ours, and not what an engine says of a null.
      expect(error.message).not.toMatch(/undefined|null|DataView|out of bounds|is not a/);
    }
  });

  it.each(golden)('is refused as a stream, unless only its end mark is gone: %s', (name) => {
    const { bytes, expected } = open(name);
    const stream = tableToIPC(tableFromIPC(bytes), 'stream');
    for (let length = 0; length < stream.length - 8; length++) {
      expect(refusal(() => codesFromArrow(stream.slice(0, length))).file).toBeUndefined();
    }
    expect(summaryOf(codesFromArrow(stream.slice(0, stream.length - 8)))).toEqual(expected);
  });

  it('says so when nothing is left', () => {
    const error = refusal(() => codesFromArrow(new Uint8Array(0), { file: 'empty.arrow' }));
    expect(error.message).toMatch(/^empty\.arrow: .*empty/);
    expect(error.name).toBe('FormatError');
  });
});

// Only as many elements as there are rows were hashed: a quarter of the bytes of decimals.
describe('a flipped bit in a row of several elements', () => {
  it.each([new Decimal(2, 38, 128), new IntervalDayTime()])('is found: %s', (type) => {
    const length = 5;
    const { stride } = makeData({ type: type as Decimal, length: 0 });
    const values = Uint32Array.from({ length: stride * length }, (_, i) => 1_000_000 + i);
    const data = makeData({ type: type as Decimal, length, nullCount: 0, data: values });
    const batch = RowBatch.ofColumns([{ field: new Field('x', type, true), data }], length, {});
    const writer = arrowWriter('file', { kind: 'pairs' });
    const bytes = concatenated([...writer.encode(batch), ...writer.finish()]);
    const start = Buffer.from(bytes).indexOf(Buffer.from(values.buffer));
    expect(start).toBeGreaterThan(0);
    openTable(bytes, undefined, { kind: 'pairs' });
    for (let at = start; at < start + values.byteLength; at++) {
      const flipped = bytes.slice();
      flipped[at] ^= 1;
      const error = refusal(() => openTable(flipped, undefined, { kind: 'pairs' }));
      expect(error.message).toContain('damaged: column "x" of batch 0 fails its checksum');
    }
  });
});

describe('a file of our own that was damaged on purpose', () => {
  const { bytes } = open('codes-v1.arrow');
  const count = 65_536 + 40;
  const two = codesToArrow(Codes.allocate(count, { bits: 8 }));
  const three = codesToArrow(Codes.allocate(65_536 + count, { bits: 8 }));

  it('is refused by the name of its version when that is not known', () => {
    const newer = replaceText(bytes, '"version":1', '"version":2');
    const error = refusal(() => codesFromArrow(newer, { file: 'new.arrow' }));
    expect(error.message).toMatch(
      /^new\.arrow: .*it is of format version 2, this release reads version 1 only/,
    );
  });

  it.each([
    ['a header that is no JSON', '{"version":1', '!"version":1'],
    ['a header that is null', /\{"version":1.*?\}/, 'null'],
    ['a header without its key', 'halfspace', 'halfspacf'],
    ['a header of another width', '"bits":20', '"bits":21'],
    ['another projection', '"signs"', '"sighs"'],
    ['another seed', '18446744073709551615', '18446744073709551614'],
    ['another number of dimensions', '"dimensions":384', '"dimensions":385'],
    ['another end', '"end":true', '"end":null'],
    ['other rows', '"rows":20', '"rows":19'],
    ['another first row', '"row":0', '"row":1'],
    ['another name of a column', 'code\0', 'cope\0'],
  ])('is refused with %s', (_, from, to) => {
    const text = Buffer.from(bytes).toString('latin1');
    const old = typeof from === 'string' ? from : (text.match(from)?.[0] ?? '');
    let changed = replaceText(bytes, old, to.padEnd(old.length));
    // The key of all batches is lost too, or of the schema only: both differ from files of other programs.
    if (to === 'halfspacf') changed = keepBatchKeys(changed);
    refusal(() => codesFromArrow(changed));
  });

  it('is refused when its batches have lost their checksums', () => {
    const { schema, batches } = tableFromIPC(bytes);
    const bare = batches.map((batch) => new RecordBatch(schema, batch.data));
    const file = tableToIPC(new Table(schema, bare), 'file');
    refusal(() => codesFromArrow(file));
  });

  it.each([
    ['the last', 0],
    ['the first', 1],
  ])('is refused without %s batch', (_, left) => {
    const file = Uint8Array.from(two);
    const { footer, blocks } = mapFile(file);
    file.copyWithin(blocks[0], blocks[left], blocks[left] + 24);
    viewOf(file).setInt32(footer.vector(SLOTS.footer.recordBatches), 1, true);
    expect(refusal(() => codesFromArrow(file)).message).toMatch(/missing|expected|cut short/);
  });

  it('is refused with its batches swapped, or one of them twice', () => {
    for (const order of [
      [1, 0, 2],
      [0, 0, 2],
      [0, 2, 1],
      [0, 2, 2],
    ]) {
      const file = Uint8Array.from(three);
      const { blocks } = mapFile(file);
      order.forEach((from, to) => {
        file.set(three.subarray(blocks[from], blocks[from] + 24), blocks[to]);
      });
      refusal(() => codesFromArrow(file));
    }
    expect(codesFromArrow(three).codes.count).toBe(65_536 + count);
  });

  it('is refused with the batches of another file among its own', () => {
    const { schema, batches } = tableFromIPC(two);
    const others = tableFromIPC(codesToArrow(Codes.allocate(count, { bits: 8, origin: ORIGIN })));
    const mixed = new Table(schema, [batches[0], withSchema(others.batches[1], schema)]);
    refusal(() => codesFromArrow(tableToIPC(mixed, 'file')));
  });
});

const ORIGIN = { projection: 'signs', seed: '7' };

function withSchema(batch: RecordBatch, schema: RecordBatch['schema']): RecordBatch {
  return new RecordBatch(schema, batch.data, batch.metadata);
}

/** Gives the batches their key again, so that only the schema has lost it. */
function keepBatchKeys(bytes: Uint8Array): Uint8Array {
  const { batches } = mapFile(bytes);
  for (const { root } of batches) {
    const [note] = root.tables(SLOTS.message.customMetadata);
    bytes.set(Buffer.from('halfspace'), note.vector(0) + 4);
  }
  return bytes;
}

/** One test of a sweep: nothing failed, nothing was slow, nothing large was asked for. */
function expectSound(sweep: Sweep): void {
  expect(sweep.failures).toEqual([]);
  expect(sweep.opened).toBeGreaterThan(0);
  expect(sweep.slowestMs).toBeLessThan(LIMIT_MS);
}

describe('every byte of a file of our own, changed or cut', { tags: 'full' }, () => {
  let sweeps: Sweep[] = [];
  beforeAll(async () => {
    sweeps = await runInChild<Sweep[]>('damage.child.ts', {
      ...{ nodeOptions: SMALL_HEAP, args: ['ours', fixtures.href], timeoutMs: 60_000 },
    });
  }, 90_000);

  const names = golden.flatMap((name) => [name, `${name} as a stream`]);
  it.each([...names, 'two batches'])('is an error or no difference: %s, changed', (name) => {
    const sweep = sweeps.find((found) => found.name === `${name}, a byte changed`) as Sweep;
    expectSound(sweep);
    expect(sweep.refused).toBeGreaterThan(5 * sweep.equal); // padding is little
  });

  it.each(names)('is an error or no difference: %s, cut', (name) => {
    const sweep = sweeps.find((found) => found.name === `${name}, cut`) as Sweep;
    expectSound(sweep);
    expect(sweep.equal).toBeLessThanOrEqual(1); // a stream without its end mark
  });
});

describe('bytes of files of other programs, changed at random', { tags: 'full' }, () => {
  it('end in an error of ours or in an answer, and soon', async () => {
    const seed = '20261121';
    const sweeps = await runInChild<Sweep[]>('damage.child.ts', {
      ...{ nodeOptions: SMALL_HEAP, args: ['others', fixtures.href, seed, '50'] },
      timeoutMs: 60_000,
    });
    expect(sweeps.length).toBeGreaterThan(100);
    const slow = sweeps.filter(({ slowestMs }) => slowestMs > LIMIT_MS);
    expect(slow.map(({ name, slowestMs }) => `${name} took ${slowestMs} ms`)).toEqual([]);
    expect(sweeps.flatMap(({ name, failures }) => failures.map((f) => `${name}: ${f}`))).toEqual(
      [],
    );
  });
});

describe('hostile files', { tags: 'full' }, () => {
  /** By name; a file whose opening ended the process is a death. */
  const outcomes = new Map<string, HostileOutcome | string>();

  beforeAll(async () => {
    await withChild('hostile.child.ts', async (run) => {
      for (let first = 0, isDone = false; !isDone; ) {
        const end = await run({
          ...{ nodeOptions: SMALL_HEAP, args: [fixtures.href, String(first)], timeoutMs: 10_000 },
        });
        const lines = end.stdout.split('\n').filter((line) => line !== '');
        for (const line of lines) {
          const outcome: HostileOutcome | null = JSON.parse(line);
          if (outcome !== null) outcomes.set(outcome.name, outcome);
        }
        isDone = lines.at(-1) === 'null';
        if (isDone) break;
        if (end.note === '') throw new Error(`${end.death}`); // it did not even start
        outcomes.set(end.note, `${end.death}`); // the note is the file's number and name
        first += lines.length + 1;
      }
    });
  }, 120_000);

  it('are many', () => {
    expect(outcomes.size).toBeGreaterThan(150);
  });

  it('are refused, each by its name and reason', () => {
    const wrong = [...outcomes].flatMap(([name, outcome]) => {
      if (typeof outcome === 'string') return [`${name}: ${outcome}`];
      const { error, message } = outcome;
      if (error === null) return [`${name}: was read`];
      const isNamed = error.message.startsWith('hostile.arrow: ');
      const isRight = isNamed && new RegExp(message).test(error.message);
      const isRefused = error.name === 'FormatError' && isRight;
      return isRefused ? [] : [`${name}: ${error.name}, ${error.message}`];
    });
    expect(wrong).toEqual([]);
  });

  it('are refused before much memory is asked for, or time taken', () => {
    const wrong = [...outcomes.values()].flatMap((outcome) => {
      if (typeof outcome === 'string') return [];
      const { name, bytes, fileBytes, ms } = outcome;
      const most = Math.max(LIMIT_BYTES, LIMIT_RATIO * fileBytes);
      const isSmall = bytes <= most && ms < LIMIT_MS;
      return isSmall ? [] : [`${name}: ${bytes} bytes of ${fileBytes}, ${ms} ms`];
    });
    expect(wrong).toEqual([]);
  });
});
