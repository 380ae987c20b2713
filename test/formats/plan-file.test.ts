import { linkSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Dictionary,
  Field,
  Int32,
  List,
  makeData,
  Struct,
  Table,
  tableFromIPC,
  Utf8,
  Vector,
  vectorFromArray,
} from 'apache-arrow';
import { afterAll, describe, expect, it } from 'vitest';
import { FormatError } from '../../src/base/check';
import { Codes } from '../../src/codes/codes';
import { PlanFile } from '../../src/explore/server/review';
import { createRows } from '../../src/formats/create-rows';
import { openRows } from '../../src/formats/open-rows';
import {
  applyChecked,
  applyPlan,
  readPlan,
  readPlanLines,
  writePlan,
} from '../../src/formats/plan-file';
import { dedup } from '../../src/near/dedup';
import { checkPlan } from '../../src/near/plan';
import { codesFromArrow, codesToArrow } from '../../src/table/from-arrow';
import { RowBatch } from '../../src/table/row-batch';
import { collection } from '../near/collections';
import { quickIf } from '../reference/tags';

/** Plans as files of their own, read back, edited and applied; the source is only read. */

const folder = mkdtempSync(join(tmpdir(), 'halfspace-plan-'));
afterAll(() => rmSync(folder, { recursive: true }));
const path = (name: string) => join(folder, name);

const codes = collection('clustered', 300, 64, 1);
const ids = Array.from({ length: 300 }, (_, row) => `doc-${row}`);
const source = path('codes.arrow');
writeFileSync(source, codesToArrow(codes, { ids }));
const plan = await dedup(codes, { maxDistance: 3 });
const keptIds = ids.filter((_, row) => plan.kept[row] === 1);

it('knows the groups that were reviewed after a spreadsheet has written TRUE and FALSE', async () => {
  const reviewed = Uint8Array.from(ids, (_, row) => Number(row % 3 === 0));
  await writePlan(path('reviewed.csv'), { ...plan, reviewed });
  const written = readFileSync(path('reviewed.csv'), 'utf8');
  writeFileSync(
    path('reviewed.csv'),
    written.replaceAll(/true|false/g, (mark) => mark.toUpperCase()),
  );
  expect((await readPlan(path('reviewed.csv'))).reviewed).toEqual(reviewed);
});

it.each(['note.csv', 'note.jsonl'])(
  'a decision changes its own columns of %s alone',
  async (name) => {
    await writePlan(path(name), plan, { ids, rows: 'groups' });
    const lines: RowBatch[] = [];
    for await (const batch of await openRows(path(name), { types: { id: 'text' } }))
      lines.push(batch);
    const [batch] = lines;
    const notes = Array.from({ length: batch.count }, (_, line) => `00${line}`);
    const writer = await createRows(path(name), { force: true });
    await writer.write(batch.with({ text: notes, note: notes }));
    await writer.close();
    const linesNow = async () =>
      RowBatch.join((await readPlanLines(path(name), ids.length, true)).lines);
    const before = await linesNow();
    const file = new PlanFile(path(name), '', null);
    const own = await file.read(ids.length);
    const dropped = own.kept.indexOf(0);
    own.kept[dropped] = 1;
    own.duplicateOf[dropped] = dropped;
    await file.save({ ...own, reviewed: new Uint8Array(own.count) });
    const after = await linesNow();
    for (const { name: column } of before.columns) {
      const [was, is] = [before.values(column), after.values(column)];
      const changed = was.flatMap((value, i) => (is[i] === value ? [] : [before.values('row')[i]]));
      const isDecided = ['action', 'duplicate_of'].includes(column);
      expect([column, changed.map(Number)]).toEqual([column, isDecided ? [dropped] : []]);
    }
    expect(after.columns.at(-1)?.name).toBe('reviewed');
    expect((await readPlan(path(name))).kept).toEqual(own.kept);
  },
);

describe.each(['plan.arrow', 'plan.csv', 'plan.jsonl'])('%s', (name) => {
  it('is written, read and applied', async () => {
    await writePlan(path(name), plan, { ids });
    const read = await readPlan(path(name));
    expect(read).toEqual(plan);
    const before = readFileSync(source);
    await applyPlan(read, source, path(`kept-by-${name}.arrow`));
    expect(readFileSync(source)).toEqual(before);
    const bytes = new Uint8Array(readFileSync(path(`kept-by-${name}.arrow`)));
    const kept = codesFromArrow(bytes); // sealed again, and checked
    expect(kept.ids).toEqual(keptIds);
    expect(Buffer.from(kept.codes.at(1))).toEqual(Buffer.from(codes.at(ids.indexOf(keptIds[1]))));
  });
});

describe('a plan as text', async () => {
  const small = collection('clustered', 50, 64, 3);
  const plan = await dedup(small, { maxDistance: 4 });
  const ids = Array.from({ length: 50 }, (_, row) => `doc "${row}",\n`);
  const similarities = Float64Array.from(plan.kept, (kept) => (kept === 1 ? 1 : 0.5));
  const files = ['plan.csv', 'plan.jsonl', 'plan.tsv', 'plan.parquet', 'plan.arrows'];

  /** The text of a plan's file. */
  const textOf = async (name: string) => {
    await writePlan(path(name), plan);
    return readFileSync(path(name), 'utf8');
  };
  const readText = (name: string, text: string) => {
    writeFileSync(path(name), text);
    return readPlan(path(name));
  };

  it.each(files)('%s comes back as it was, with cosines and ids and without', async (name) => {
    for (const given of [plan, { ...plan, similarities, measure: 'cosine' as const }]) {
      for (const options of [undefined, { ids }]) {
        await writePlan(path(name), given, options);
        expect(await readPlan(path(name))).toEqual(given);
      }
    }
  });

  // Of 31,760 bit flips 13 turned keep into drop in 0.1, and nobody was told.
  for (const [name, step] of [
    ['few.arrow', 30],
    ['few.arrows', 30],
    ['few.arrow', 7],
    ['few.arrows', 7],
  ] as const) {
    it(
      `as ${name} is refused or the same with one byte in ${step} changed`,
      quickIf(step > 7),
      async () => {
        const few = await dedup(collection('clustered', 12, 64, 3), { maxDistance: 4 });
        await writePlan(path(name), few);
        const sound = readFileSync(path(name));
        let refused = 0;
        for (let at = 0; at < sound.length; at += step) {
          const bytes = Buffer.from(sound);
          bytes[at] ^= 1 << (at % 8);
          writeFileSync(path(name), bytes);
          const plan = await readPlan(path(name)).catch((error: unknown) => {
            expect(error).toBeInstanceOf(FormatError);
            refused++;
          });
          if (plan !== undefined) expect(plan).toEqual(few);
        }
        expect(refused).toBeGreaterThan(600 / step);
      },
    );
  }

  it('reads as people expect', async () => {
    const [, line] = (await textOf('plan.csv'))
      .split('\n')
      .filter((text) => / ?drop/.test(text) || text.startsWith('row'));
    const row = plan.kept.indexOf(0);
    const { groups, duplicateOf, distances, checks } = plan;
    expect(line).toBe(
      [row, groups[row], 'drop', duplicateOf[row], distances[row], checks[row], 50].join(),
    );
  });

  it('may have another delimiter: 0.1 refused what a spreadsheet saves', async () => {
    const text = (await textOf('plan.csv')).replaceAll(',', ';');
    expect(await readText('plan.csv', text)).toEqual(plan);
  });

  it('may have decisions in capitals and with blanks, and empty lines of a spreadsheet', async () => {
    const text = (await textOf('plan.csv')).replaceAll('keep', ' KEEP').replaceAll('drop', 'Drop ');
    const [heading, ...lines] = text.trimEnd().split('\n');
    const empty = heading.replace(/[^,]/g, '');
    const all = [heading, lines[0], empty, ...lines.slice(1), empty, empty].join('\n');
    expect(await readText('plan.csv', all)).toEqual(plan);
    writeFileSync(path('spread.csv'), all);
    const { plan: read, lines: batches } = await readPlanLines(path('spread.csv'), 50, true);
    expect([read, batches[0].count]).toEqual([plan, lines.length]);
    const half = `${empty}7`;
    await expect(readText('plan.csv', `${all}\n${half}`)).rejects.toThrow('"row" expected an int');
  });

  it('may have columns of a person, of any kind', async () => {
    const lines = (await textOf('plan.csv')).trimEnd().split('\n');
    const noted = lines.map((line, i) => `${line},${i === 0 ? 'note' : i % 7 || 'a "".'}`);
    await expect(readText('plan.csv', noted.join('\n'))).resolves.toEqual(plan);
  });

  it('takes what a person changed, and lines in another order', async () => {
    const row = plan.kept.indexOf(0);
    const lines = (await textOf('plan.jsonl')).trimEnd().split('\n').reverse();
    const edited = lines.map((line) =>
      line.includes(`{"row":${row},`) ? line.replace('"drop"', '"keep"') : line,
    );
    const read = await readText('plan.jsonl', edited.join('\r\n'));
    expect(read.kept[row]).toBe(1);
    expect([read.duplicateOf[row], read.distances[row]]).toEqual([row, 0]);
    expect(read.kept.filter((one, i) => one !== plan.kept[i])).toHaveLength(1);
  });

  it('keeps the rows whose lines a person deleted', async () => {
    const [heading, ...lines] = (await textOf('plan.csv')).trimEnd().split('\n');
    const gone = plan.kept.indexOf(0);
    const left = lines.filter((line) => !line.startsWith(`${gone},`));
    const read = await readText('plan.csv', [heading, ...left].join('\n'));
    expect(read.count).toBe(plan.count);
    expect([read.kept[gone], read.duplicateOf[gone], read.groups[gone]]).toEqual([1, gone, gone]);
    expect(read.listed).toEqual(plan.kept.map((_, row) => Number(row !== gone)));
    const others = (values: ArrayLike<number>) => Array.from(values).filter((_, i) => i !== gone);
    expect(others(read.kept)).toEqual(others(plan.kept));
    // What is not listed is not compared; another row still is.
    const checks = plan.checks.slice();
    checks[gone]++;
    checkPlan(read, checks);
    checks[(gone + 1) % 50]++;
    expect(() => checkPlan(read, checks)).toThrow(/is not the one that the plan was made for/);
    await expect(readText('plan.csv', heading)).rejects.toThrow(/no line is left/);
    const other = left.map((line, i) => (i === 3 ? line.replace(/,50$/, ',51') : line));
    await expect(readText('plan.csv', [heading, ...other].join('\n'))).rejects.toThrow(
      /record 3: "rows" is 51, and 50 in the first/,
    );
  });

  it('has the lines of groups alone, the most doubtful group first', async () => {
    await writePlan(path('plan.jsonl'), plan, { rows: 'groups' });
    const lines = readFileSync(path('plan.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const sizeOf = (group: number) => plan.groups.filter((one) => one === group).length;
    const rows = lines.map(({ row }) => row);
    expect([...rows].sort((a, b) => a - b)).toEqual(
      Array.from(plan.groups.keys()).filter((row) => sizeOf(plan.groups[row]) > 1),
    );
    const widest = (group: number) =>
      Math.max(...plan.distances.filter((_, row) => plan.groups[row] === group));
    const groups = [...new Set<number>(lines.map(({ group }) => group))];
    expect(groups.map(widest)).toEqual(groups.map(widest).sort((a, b) => b - a));
    const read = await readPlan(path('plan.jsonl'));
    expect({ ...read, listed: 0, checks: 0 }).toEqual({ ...plan, listed: 0, checks: 0 });
  });

  it('finds the groups of more rows than a Map holds', { tags: 'thorough' }, async () => {
    const count = 2 ** 24 + 2;
    const groups = Uint32Array.from({ length: count }, (_, row) => row);
    const kept = new Uint8Array(count).fill(1);
    groups[count - 1] = kept[count - 1] = 0;
    const distances = new Uint16Array(count);
    const many = { ...plan, count, groups, kept, duplicateOf: groups, distances };
    await writePlan(path('many.jsonl'), { ...many, checks: groups }, { rows: 'groups' });
    const lines = readFileSync(path('many.jsonl'), 'utf8').trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).row)).toEqual([0, count - 1]);
  });

  it.each([
    [
      'csv',
      (text: string) => text.replace('keep', 'hold'),
      /"action" expected "keep" or "drop", got "hold"/,
    ],
    ['csv', (text: string) => text.slice(0, text.lastIndexOf(',')), /line 51: 6 cells, but 7/],
    ['csv', (text: string) => text.replace('\n1,', '\n"1,'), /line 3: a broken quote/],
    ['csv', (text: string) => text.replace('\n1,', '\n0,'), /row 0 is there twice/],
    ['csv', (text: string) => text.replace('\n1,', '\n9999,'), /row 9999 of a plan for 50 rows/],
    ['csv', (text: string) => text.replace('\n1,', '\n1.5,'), /record 1: "row" expected an/],
    ['jsonl', (text: string) => text.replace('{"row":1,', '{"row":1,,'), /line 2: .*JSON/],
    [
      'jsonl',
      (text: string) => text.replace('{"row":1,', '{"row":"x",'),
      /record 1: "row" expected an integer/,
    ],
  ] as const)('refuses a broken one: %s', async (format, breakIt, message) => {
    const name = `plan.${format}`;
    const text = breakIt(await textOf(name));
    await expect(readText(name, text)).rejects.toThrow(FormatError);
    await expect(readText(name, text)).rejects.toThrow(message);
  });
});

describe('applying', () => {
  it('refuses other rows, and writes nothing', async () => {
    const other = path('other.arrow');
    const changed = collection('clustered', 300, 64, 1);
    changed.at(5)[0] ^= 1;
    writeFileSync(other, codesToArrow(changed));
    const files = readdirSync(folder);
    await expect(applyPlan(plan, other, path('out.arrow'))).rejects.toThrow(FormatError);
    await expect(applyPlan(plan, other, path('out.arrow'))).rejects.toThrow(
      'row 5 is not the one that the plan was made for',
    );
    writeFileSync(other, codesToArrow(collection('uniform', 3, 64, 1)));
    await expect(applyPlan(plan, other, path('out.arrow'))).rejects.toThrow(
      'the plan is for 300 rows, the source has 3',
    );
    expect(readdirSync(folder)).toEqual(files);
  });

  it('refuses an output that is the input, by whatever name', async () => {
    linkSync(source, path('link.arrow'));
    const before = readFileSync(source);
    for (const output of [source, join(folder, '.', 'codes.arrow'), path('link.arrow')]) {
      await expect(applyPlan(plan, source, output)).rejects.toThrow('is the input');
    }
    expect(readFileSync(source)).toEqual(before);
  });

  it('keeps cells of CSV as they are written, of shards and in a file with tabs', async () => {
    const three = await dedup(Codes.from(Uint8Array.of(1, 1, 2), { bits: 8 }), { maxDistance: 0 });
    writeFileSync(path('a.csv'), 'version,body\n1.10,a\n1.10,b\n');
    writeFileSync(path('b.csv'), 'version,body\n2.0,c\n');
    writeFileSync(path('all.csv'), 'version,body\n1.10,a\n1.10,b\n2.0,c\n');
    await applyPlan(three, [path('a.csv'), path('b.csv')], path('shards.csv'));
    expect(readFileSync(path('shards.csv'), 'utf8')).toBe('version,body\n1.10,a\n2.0,c\n');
    await applyPlan(three, path('all.csv'), path('tabs.tsv'));
    expect(readFileSync(path('tabs.tsv'), 'utf8')).toBe('version\tbody\n1.10\ta\n2.0\tc\n');
  });

  it('refuses a plan of an unknown kind, or none', async () => {
    await expect(writePlan(path('plan.txt'), plan)).rejects.toThrow(
      '"format" expected one that is written: arrow, arrows, parquet, csv, jsonl',
    );
    writeFileSync(path('broken.arrow'), 'no plan');
    await expect(readPlan(path('broken.arrow'))).rejects.toThrow(FormatError);
    await expect(readPlan(source)).rejects.toThrow('no column "action"');
  });
});

describe('rows kept of a file', () => {
  const fixtures = new URL('../fixtures/arrow/', import.meta.url);
  const names = readdirSync(fixtures).filter((name) =>
    /^(pyarrow|polars|duckdb).*\.arrow$/.test(name),
  );

  /** The rows for which `kept` is 1, batch by batch. */
  const keepRows = (table: Table, kept: Uint8Array) => {
    let firstRow = 0;
    const batches = table.batches.map((batch) => {
      const rows = Array.from({ length: batch.numRows }, (_, row) => row);
      const some = rows.filter((row) => kept[firstRow + row] === 1);
      firstRow += batch.numRows;
      return RowBatch.fromArrow(batch).select(some).toArrow();
    });
    return new Table(batches);
  };

  it.each(names)('%s: all columns, equal values', (name) => {
    const bytes = new Uint8Array(readFileSync(new URL(name, fixtures)));
    const table = tableFromIPC(bytes);
    const kept = Uint8Array.from({ length: table.numRows }, (_, row) => Number(row % 3 !== 1));
    const text = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value);
    const lines = (of: typeof table) => Array.from(of, (row) => JSON.stringify(row, text));
    const expected = lines(table).filter((_, row) => kept[row] === 1);
    expect(lines(keepRows(table, kept))).toEqual(expected);
  });

  it('with dictionaries in lists and structs', () => {
    const colours = new Dictionary(new Utf8(), new Int32());
    const word = vectorFromArray(['red', 'blue', 'red', 'green'], colours);
    const [{ type }] = word.data;
    const struct = makeData({
      ...{ type: new Struct([new Field('c', type, true)]), length: 4, nullCount: 0 },
      children: [word.data[0]],
    });
    const list = makeData({
      ...{ type: new List(new Field('item', type, true)), length: 4, nullCount: 0 },
      ...{ valueOffsets: Int32Array.of(0, 1, 2, 3, 4), child: word.data[0] },
    });
    const table = new Table({ s: new Vector([struct]), l: new Vector([list]), w: word });
    const kept = keepRows(table, Uint8Array.of(1, 0, 0, 1));
    expect(Array.from(kept, (row) => JSON.stringify(row))).toEqual([
      '{"s":{"c":"red"},"l":["red"],"w":"red"}',
      '{"s":{"c":"green"},"l":["green"],"w":"green"}',
    ]);
  });
});

it('writes and applies plans only', async () => {
  const bad = { ...(await dedup(collection('uniform', 5, 64, 9), { maxDistance: 3 })), kept: [1] };
  const words = 'plan."kept" expected a Uint8Array, got Array';
  await expect(writePlan(path('bad.csv'), bad as never)).rejects.toThrow(words);
  await expect(applyPlan(bad as never, 'x.jsonl', path('y.jsonl'))).rejects.toThrow(words);
});

describe('of JSONL with the bytes that a plan was made of', async () => {
  const COUNT = 8000; // more than the lines by which columns are learned
  const more = `"text":"${'x'.repeat(400)}"`;
  const last = COUNT - 1;
  const codes = Codes.from(new Uint8Array(8 * COUNT), { bits: 64 });
  const plan = { ...(await dedup(codes, { maxDistance: 0 })), kept: new Uint8Array(COUNT).fill(1) };
  plan.kept[last] = 0;
  const line = (row: number) => (row === last - 1 ? '{"id": broken}' : `{"id":"d${row}",${more}}`);
  // Blank lines are no rows.
  const lines = Array.from({ length: COUNT }, (_, row) => line(row) + (row % 9 ? '\n' : '\n \n\n'));
  const ids = (own: string) => {
    const values: (string | undefined)[] = Array(COUNT).fill(undefined);
    values[last] = own;
    return { column: 'id', values };
  };

  it('only lines are parsed whose ids are compared, and records keep their bytes', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'halfspace-unchanged-'));
    const [source, output] = [join(folder, 'in.jsonl'), join(folder, 'out.jsonl')];
    writeFileSync(source, lines.join(''));
    const apply = (own: string, isUnchanged: boolean) =>
      applyChecked(plan, source, output, {
        ids: ids(own),
        isUnchanged,
      });
    await apply(`d${last}`, true);
    const records = lines.map((one) => `${one.split('\n')[0]}\n`);
    expect(readFileSync(output, 'utf8')).toBe(records.slice(0, last).join(''));
    await expect(apply('other', true)).rejects.toThrow(`row ${last}: its "id" is d${last}`);
    await expect(apply(`d${last}`, false)).rejects.toThrow(/line \d+: .*broken|line \d+: /);
    writeFileSync(source, lines.slice(1).join(''));
    await expect(apply(`d${last}`, true)).rejects.toThrow();
    rmSync(folder, { recursive: true });
  });
});
