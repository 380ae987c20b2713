import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { Codes } from '../../src/codes/codes';
import { createRows } from '../../src/formats/create-rows';
import { type OpenRowsOptions, openRows } from '../../src/formats/open-rows';
import { applyPlan } from '../../src/formats/plan-file';
import { dedup } from '../../src/near/dedup';
import { codesFromArrow } from '../../src/table/from-arrow';
import { RowBatch } from '../../src/table/row-batch';

const folder = mkdtempSync(join(tmpdir(), 'halfspace-out-'));
afterAll(() => rmSync(folder, { recursive: true }));
const path = (name: string) => join(folder, name);
const formats = ['arrow', 'arrows', 'parquet', 'csv', 'jsonl'] as const;

const batch = RowBatch.of({
  id: BigInt64Array.of(1n, 2n, 2n ** 60n + 1n),
  text: ['a "b",\nc', null, '😀'],
  score: [0.5, null, -3],
  vector: { values: Float32Array.of(1, 2, 3, 0.5, -1, 6), dimensions: 2 },
});

async function columnsOf(file: string, options?: OpenRowsOptions) {
  const columns: Record<string, unknown[]> = {};
  for await (const rows of await openRows(file, options)) {
    for (const { name } of rows.columns) {
      columns[name] = [...(columns[name] ?? []), ...rows.values(name)];
    }
  }
  return columns;
}

describe.each(formats)('%s', (format) => {
  it('comes back as it was written, from many batches', async () => {
    const file = path(`back.${format}`);
    const writer = await createRows(file);
    for (let i = 0; i < 3; i++) await writer.write(batch);
    await writer.close();
    expect(writer.rowCount).toBe(9);
    const types = format === 'csv' ? { vector: 'vector' as const } : undefined;
    const columns = await columnsOf(file, { types });
    for (const { name } of batch.columns) {
      const once = batch
        .values(name)
        .map((value) => (Array.isArray(value) ? value.map(Number) : value));
      expect([name, columns[name]]).toEqual([name, [...once, ...once, ...once]]);
    }
  });

  it('is whole or not there: nothing is left of what fails or is given up', async () => {
    const before = readdirSync(folder);
    const writer = await createRows(path(`none.${format}`));
    await writer.write(batch);
    await expect(writer.write(batch.only(['id']))).rejects.toThrow(/column/);
    await expect(writer.close()).rejects.toThrow('closed already');
    const other = await createRows(path(`none.${format}`));
    await other.write(batch);
    await other.abort();
    expect(readdirSync(folder)).toEqual(before);
  });
});

describe('an output', () => {
  it('that exists is refused without force, and replaced with it', async () => {
    writeFileSync(path('there.jsonl'), 'old');
    await expect(createRows(path('there.jsonl'))).rejects.toThrow('exists');
    const writer = await createRows(path('there.jsonl'), { force: true });
    await writer.write(batch);
    expect(readFileSync(path('there.jsonl'), 'utf8')).toBe('old');
    await writer.close();
    expect(readFileSync(path('there.jsonl'), 'utf8').split('\n')).toHaveLength(4);
  });

  it.each(['600', '440', '666'])(
    'keeps mode %s and the owner of what it replaces',
    async (octal) => {
      const mode = Number.parseInt(octal, 8);
      writeFileSync(path('mode.jsonl'), 'old');
      chmodSync(path('mode.jsonl'), mode);
      // Only the superuser may give files away.
      if (process.getuid?.() === 0) chownSync(path('mode.jsonl'), 4321, 1234);
      const { uid, gid } = statSync(path('mode.jsonl'));
      const writer = await createRows(path('mode.jsonl'), { force: true });
      const unfinished = readdirSync(folder).find((name) =>
        name.startsWith('.mode.jsonl'),
      ) as string;
      expect(statSync(path(unfinished)).mode & 0o777 & ~mode).toBe(0);
      await writer.write(batch);
      await writer.close();
      const { mode: own, ...others } = statSync(path('mode.jsonl'));
      expect([own & 0o777, others.uid, others.gid]).toEqual([mode, uid, gid]);
    },
  );

  it('may have a name as long as the file system allows, and is refused at once where not', async () => {
    const name = `a${'é'.repeat(124)}.jsonl`;
    expect(Buffer.byteLength(name)).toBe(255);
    const writer = await createRows(path(name));
    await writer.write(batch);
    await writer.close();
    expect(readdirSync(folder)).toContain(name);
    const tooLong = createRows(path(`a${name}`), { force: true });
    await expect(tooLong).rejects.toMatchObject({ code: 'ENAMETOOLONG', path: path(`a${name}`) });
  });

  it('that another program made meanwhile stays', async () => {
    const writers = [await createRows(path('race.jsonl')), await createRows(path('race.jsonl'))];
    for (const writer of writers) await writer.write(batch);
    await writers[0].close();
    await expect(writers[1].close()).rejects.toThrow(
      `the output ${path('race.jsonl')} was made by another program meanwhile; force (--force) repl`,
    );
    expect(readdirSync(folder).filter((name) => name.includes('race'))).toEqual(['race.jsonl']);
  });

  it('that is an input is refused by whatever name, also with force', async () => {
    writeFileSync(path('input.jsonl'), '{}');
    symlinkSync(path('input.jsonl'), path('alias.jsonl'));
    const options = { force: true, inputs: [path('input.jsonl')] };
    await expect(createRows(path('alias.jsonl'), options)).rejects.toThrow('is the input');
  });

  it('that is a symbolic link stays one: what it points to is replaced', async () => {
    writeFileSync(path('real.jsonl'), 'old');
    symlinkSync(path('real.jsonl'), path('link.jsonl'));
    const writer = await createRows(path('link.jsonl'), { force: true });
    await writer.write(batch.select([1]));
    await writer.close();
    expect(readFileSync(path('real.jsonl'), 'utf8')).toContain('"id":2');
    expect(statSync(path('link.jsonl')).ino).toBe(statSync(path('real.jsonl')).ino);
  });

  it('needs a format that is written', async () => {
    await expect(createRows(path('x.bin'))).rejects.toThrow('has no known extension');
    await expect(createRows(path('x.npy'))).rejects.toThrow('one that is written');
    await expect(createRows(new Writable())).rejects.toThrow('a stream needs a format');
  });

  it('that is a stream is waited for, and its error rejects the write', async () => {
    let open = 0;
    let most = 0;
    const slow = new Writable({
      write(_, __, done) {
        most = Math.max(most, ++open);
        setTimeout(() => {
          open--;
          done();
        }, 5);
      },
    });
    const writer = await createRows(slow, { format: 'jsonl' });
    for (let i = 0; i < 5; i++) await writer.write(batch);
    await writer.close();
    expect(most).toBe(1);
    const broken = new Writable({
      write: (_, __, done) => done(Object.assign(new Error('broken pipe'), { code: 'EPIPE' })),
    });
    const failing = await createRows(broken, { format: 'csv' });
    await expect(failing.write(batch)).rejects.toMatchObject({ code: 'EPIPE' });
  });

  it('of codes is sealed by its header, in many batches', async () => {
    const codes = Codes.from(Uint8Array.of(1, 2, 3, 4), { bits: 12 });
    for (const name of ['sealed.arrow', 'sealed.arrows']) {
      const origin = { projection: 'signs', seed: '7' };
      const writer = await createRows(path(name), { header: { bits: 12, ...origin } });
      for (let i = 0; i < 3; i++) await writer.write(RowBatch.of({ id: ['a', 'b'], code: codes }));
      await writer.close();
      const bytes = Uint8Array.from(readFileSync(path(name)));
      const read = codesFromArrow(bytes);
      expect(read.codes).toMatchObject({ bits: 12, count: 6, origin });
      expect(await columnsOf(path(name), { columns: ['id'] })).toEqual({
        id: ['a', 'b', 'a', 'b', 'a', 'b'],
      });
      bytes[Buffer.from(bytes).lastIndexOf(Uint8Array.of(1, 2, 3, 4))] ^= 1;
      writeFileSync(path(name), bytes);
      await expect(columnsOf(path(name))).rejects.toThrow(
        'damaged: column "code" of batch 2 fails its checksum',
      );
    }
  });
});

/** RFC 4180 by a machine of states, character by character. */
function naiveCsv(text: string, delimiter: string): string[][] {
  const rows: string[][] = [[]];
  let cell = '';
  let isQuoted = false;
  for (let i = 0; i < text.length; i++) {
    const row = rows[rows.length - 1];
    if (isQuoted && text[i] === '"' && text[i + 1] === '"') cell += text[i++];
    else if (text[i] === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (text[i] === delimiter || text[i] === '\n')) {
      row.push(cell);
      cell = '';
      if (text[i] === '\n') rows.push([]);
    } else if (isQuoted || text[i] !== '\r') cell += text[i];
  }
  return rows.slice(0, -1);
}

describe('any texts', () => {
  const cell = fc.stringMatching(/^[a-z0-9",;\r\n é😀]{0,8}$/u);
  const rows = fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 20 });

  it('are read from CSV as a naive parser reads them, in pieces of any size', async () => {
    await fc.assert(
      fc.asyncProperty(
        rows,
        fc.constantFrom(',', ';', '\t'),
        fc.integer({ min: 1, max: 30 }),
        async (table, delimiter, size) => {
          const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
          const lines = table.map((row) => row.map(quoted).join(delimiter));
          const text = `${[`a${delimiter}b`, ...lines].join('\r\n')}\n`;
          const bytes = Buffer.from(text);
          const pieces = (async function* () {
            for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
          })();
          const found: unknown[][] = [];
          const types = { a: 'text', b: 'text' } as const;
          for await (const some of await openRows(pieces, { format: 'csv', types, batchRows: 7 })) {
            const [a, b] = [some.texts('a'), some.texts('b')];
            a.forEach((value, row) => {
              found.push([value, b[row]]);
            });
          }
          expect(found).toEqual(naiveCsv(text, delimiter).slice(1));
        },
      ),
      { seed: 11, numRuns: 60 },
    );
  });

  it('come back from CSV and JSONL, nulls and empty texts apart', async () => {
    const some = fc.array(fc.option(cell), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(some, fc.constantFrom('csv', 'jsonl'), async (texts, format) => {
        const writer = await createRows(path(`any.${format}`), { force: true });
        await writer.write(RowBatch.of({ text: ['x', ...texts], other: ['y', ...texts] }));
        await writer.close();
        const types = { text: 'text', other: 'text' } as const;
        const read = await columnsOf(path(`any.${format}`), { types });
        expect(read).toEqual({ text: ['x', ...texts], other: ['y', ...texts] });
      }),
      { seed: 12, numRuns: 60 },
    );
  });
});

it('floats of any size come back from CSV and JSONL', async () => {
  // Between 2^53 and 1e21 JavaScript writes as many digits as tell a float from others, then zeros.
  const large = [51767240907065570000, -1e20, 2 ** 60, 2 ** 53 + 2, 1e300, 0.1];
  for (const given of [[0.5, ...large], [...large], [1, 1, 2, ...large]]) {
    for (const format of ['csv', 'jsonl']) {
      const file = path(`large.${format}`);
      const output = await createRows(file, { force: true });
      await output.write(RowBatch.of({ n: Float64Array.from(given) }));
      await output.close();
      expect(await columnsOf(file)).toEqual({ n: given });
    }
  }
});

describe('lines that do not fit', () => {
  const read = async (name: string, text: string, options?: OpenRowsOptions) => {
    writeFileSync(path(name), text);
    return columnsOf(path(name), options);
  };
  /** More than is looked at before the first batch. */
  const pad = 'x'.repeat(300);
  const many = Array.from({ length: 12_000 }, (_, i) => {
    return `{"n":${i % 3},"id":${i},"pad":"${pad}"}`;
  }).join('\n');

  it('are reported with line, column and what to do', async () => {
    await expect(read('late.jsonl', `${many}\n{"n":"x"}\n`)).rejects.toThrow(
      /late.jsonl: line 12001: column "n" expected .* got "x"; say types: \{ "n": 'text' \}/,
    );
    await expect(read('late.jsonl', `${many}\n{"m":1}\n`)).rejects.toThrow(
      'line 12001: column "m"',
    );
    await expect(read('bad.jsonl', '{"a":1}\n\n{"a":\n')).rejects.toThrow('bad.jsonl: line 3: ');
    await expect(read('bad.csv', 'a,b\n1,"x\ny"\n3\n')).rejects.toThrow('bad.csv: line 4: 1 cells');
    await expect(read('bad.csv', 'a,b\n1,2\n3,"x\n')).rejects.toThrow('line 3: a broken quote');
  });

  it('are integers where the caller says so, though one is there twice', async () => {
    const text = '{"y":1}\n{"y":1}\n';
    expect((await read('same.jsonl', text)).y).toEqual([1, 1]);
    expect((await read('same.jsonl', text, { types: { y: 'integer' } })).y).toEqual([1n, 1n]);
  });

  it('are floats behind integers, which simply work', async () => {
    const { n } = await read('float.jsonl', `${many}\n{"n":0.5}\n`);
    expect(n.slice(-2)).toEqual([2, 0.5]);
    const csv = `n,t\n${'1,a\n2,b\n1,c\n'.repeat(4000)}2.5,d\n`;
    expect((await read('float.csv', csv)).n.at(-1)).toBe(2.5);
  });

  it('are integers beyond 2^53, which are never rounded', async () => {
    const big = '9007199254740993';
    expect(await read('big.jsonl', `{"id":${big}}\n`)).toEqual({ id: [BigInt(big)] });
    expect(await read('big.csv', `id,x\n${big},y\n`)).toEqual({ id: [BigInt(big)], x: ['y'] });
    await expect(read('big.jsonl', `${many}\n{"n":${big}}\n`)).rejects.toThrow('float64');
  });

  it('are 20 MB long and work', { tags: 'thorough' }, async () => {
    const long = 'x'.repeat(20_000_000);
    const { text } = await read('long.jsonl', `{"text":"${long}"}\n{"text":"b"}\n`);
    expect([(text[0] as string).length, text[1]]).toEqual([long.length, 'b']);
    const csv = await read('long.csv', `a,text\n1,"${long}"\n2,b\n`);
    expect([(csv.text[0] as string).length, csv.text[1]]).toEqual([long.length, 'b']);
  });
});

describe('a plan', async () => {
  const codes = Codes.from(Uint8Array.of(1, 255, 1, 15, 255), { bits: 8 });
  const plan = await dedup(codes, { maxDistance: 0 }); // keeps rows 0, 1 and 3

  it.each([
    [
      'records.jsonl',
      ['{"a": 1}\n', '{"a":  2}\r\n', '{"a":1}\n', '\n{"a":4, "b":[]}\n', '{"a":5}'],
    ],
    ['records.csv', ['1,"x\ny"\r\n', '2,b\n', '1,c\n', '4,"q"\n', '5,e']],
    ['records.txt', ['one\n', '\n', 'three\n', 'four\r\n', 'five']],
  ])('keeps the records of %s byte for byte', async (name, records) => {
    const head = name.endsWith('.csv') ? '\ufeffa,b\r\n' : '';
    writeFileSync(path(name), head + records.join(''));
    await applyPlan(plan, path(name), path(`kept-${name}`));
    const kept = [records[0], records[1], records[3].replace(/^\n/, '')].join('');
    expect(readFileSync(path(`kept-${name}`), 'utf8')).toBe(head + kept);
  });

  it.each(formats)('keeps all columns of %s, and converts', async (format) => {
    const source = path(`plan-source.${format}`);
    const writer = await createRows(source);
    await writer.write(
      RowBatch.of({ a: ['p', 'q', 'r', 's', 't'], n: Float64Array.of(1, 2, 3, 4.5, 5) }),
    );
    await writer.close();
    for (const output of formats) {
      await applyPlan(plan, source, path(`plan-${format}.${output}`));
      expect(await columnsOf(path(`plan-${format}.${output}`))).toEqual({
        a: ['p', 'q', 's'],
        n: [1, 2, 4.5],
      });
    }
  });

  it('is refused for another number of rows, and nothing is left', async () => {
    writeFileSync(path('fewer.jsonl'), '{"a":1}\n');
    await expect(applyPlan(plan, path('fewer.jsonl'), path('fewer-out.jsonl'))).rejects.toThrow(
      'the plan is for 5 rows, the source has 1',
    );
    expect(readdirSync(folder).filter((name) => name.includes('fewer-out'))).toEqual([]);
  });
});

it('seals slices of any type of column so that they are read again', async () => {
  const count = 40;
  const codes = Codes.from(
    Uint8Array.from({ length: count }, (_, row) => row),
    { bits: 8 },
  );
  const all = RowBatch.of({
    id: Array.from({ length: count }, (_, row) => `row ${row}`),
    ok: Array.from({ length: count }, (_, row) => (row % 7 === 3 ? null : row % 3 === 0)),
    code: codes,
  });
  const rows = await createRows(path('sliced.arrow'), { header: { bits: 8 }, force: true });
  for (const [first, end] of [
    [3, 9],
    [9, 30],
  ]) {
    await rows.write(all.slice(first, end));
  }
  await rows.close();
  const { codes: read, ids } = codesFromArrow(readFileSync(path('sliced.arrow')));
  expect([...read.bytes]).toEqual(Array.from({ length: 27 }, (_, i) => i + 3));
  expect(ids).toEqual(Array.from({ length: 27 }, (_, i) => `row ${i + 3}`));
});

it('writes equal codes as Parquet, whose dictionary has no bits, and reads them again', async () => {
  const codes = Codes.from(new Uint8Array(3).fill(7), { bits: 8 });
  const rows = await createRows(path('same.parquet'), { force: true });
  await rows.write(RowBatch.of({ codes }));
  await rows.close();
  for await (const batch of await openRows(path('same.parquet'))) {
    expect(batch.values('codes')).toEqual(RowBatch.of({ codes }).values('codes'));
  }
});
