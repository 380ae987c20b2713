/**
 * Rows of JSON lines: an object a line. The columns and their types are those of the first lines; a
 * later value that does not fit is an error that names its line, never changed in silence.
 */

import type { RowBatch } from '../../table/row-batch';
import { type ColumnPlan, RowAssembler } from '../../table/row-batch';
import type { ByteSource } from '../byte-source';
import { checkUtf8, type LineBlock, lineBlocks, textOf } from '../byte-source';
import { fitter, kindOf, lateColumn } from '../column-kinds';
import { checkColumnCount, checkColumns, type FormatRows, type ReadOptions } from '../row-reader';
import { parseExact } from './json-text';

/** Rows and bytes whose types are looked at before the first batch. */
const FIRST_ROWS = 5000;
const FIRST_BYTES = 1 << 22;

type JsonObject = Record<string, unknown>;

interface Line {
  readonly value: JsonObject;
  /** Its place. */
  readonly block: LineBlock;
  readonly at: number;
}

/** Rows of JSON lines. One block of bytes and one batch are in memory. */
export async function jsonlRows(source: ByteSource, options: ReadOptions): Promise<FormatRows> {
  const { name } = source;
  const { types, isWanted = () => true } = options;
  const linesOf = lineReader(options, name);
  const blocks = lineBlocks(source, options.maxLineBytes);
  /** Lines of the blocks that were read to learn the columns. */
  const first: Line[] = [];
  let firstBytes = 0;
  while (first.length < FIRST_ROWS && firstBytes < FIRST_BYTES) {
    const result = await blocks.next();
    if (result.done) break;
    firstBytes += result.value.bytes.length;
    for (const line of linesOf(result.value, () => true)) first.push(line);
  }

  // Only values that are there: with a key a line, all of them would be the square of the lines.
  const values = new Map<string, unknown[]>();
  const valuesOf = (key: string) => {
    const known = values.get(key) ?? [];
    if (known.length === 0) values.set(key, known);
    return known;
  };
  for (const { value } of first) {
    for (const key of Object.keys(value)) valuesOf(key).push(value[key]);
  }
  for (const key of Object.keys(types)) valuesOf(key);
  checkColumnCount(values.size, options, name);
  const names = [...values.keys()];
  const wanted = options.columns ?? names;
  checkColumns(wanted, names);
  const plans = wanted.map((column) => {
    return { name: column, kind: kindOf(column, valuesOf(column), types[column]) };
  });
  const assembler = new RowAssembler(plans, name, options.batchRows);
  const add = rowAdder(plans, assembler, options);

  function* batchesOf(lines: Iterable<Line>): Generator<RowBatch> {
    for (const line of lines) {
      const { value, block, at } = line;
      const { bytes, starts, ends } = block;
      try {
        add(value);
        options.onRecord?.(bytes, starts[at], starts[at + 1] ?? bytes.length);
      } catch (error) {
        options.skips.skip(block.firstLine + at, error, name);
      }
      if (assembler.isFullAfter(ends[at] - starts[at])) yield assembler.take();
    }
  }

  async function* batches(): AsyncGenerator<RowBatch> {
    yield* batchesOf(first.splice(0));
    for await (const block of blocks) yield* batchesOf(linesOf(block, isWanted));
    yield* assembler.rest();
  }
  return { columns: assembler.columns, batches };
}

/** Of rows that are not read. */
const NO_VALUES: JsonObject = {};
const BRACE = 0x7b;

/**
 * Returns a function that gives the objects of one block after another, those of rows that are not
 * wanted empty; blank lines have none, and lines that cannot be read are skipped.
 */
function lineReader({ skips }: ReadOptions, file: string) {
  let row = 0;
  return function* (block: LineBlock, isWanted: (row: number) => boolean): Generator<Line> {
    const { bytes, starts } = block;
    for (let at = 0; at < starts.length; at++) {
      try {
        const isLeftOut = bytes[starts[at]] === BRACE && !isWanted(row);
        const value = isLeftOut ? NO_VALUES : parseLine(block, at);
        if (value === null) continue;
        row++;
        yield { value, block, at };
      } catch (error) {
        skips.skip(block.firstLine + at, error, file);
      }
    }
  };
}

/** Returns a function that adds a row to the batch: all of its values, or none. */
function rowAdder(
  plans: readonly ColumnPlan[],
  assembler: RowAssembler,
  { types, columns }: ReadOptions,
): (value: JsonObject) => void {
  const fits = plans.map((plan) => fitter(plan, types[plan.name] !== undefined));
  const places = new Map(plans.map(({ name }, i) => [name, i]));
  const row: unknown[] = [];
  return (value) => {
    row.length = 0;
    let next = 0;
    for (const key in value) {
      // Keys mostly come in one order.
      const place = plans[next]?.name === key ? next : places.get(key);
      if (place !== undefined) row[place] = fits[place](value[key]);
      else if (columns === undefined) throw new Error(lateColumn(key));
      next = (place ?? next) + 1;
    }
    const { builders } = assembler;
    for (let i = 0; i < builders.length; i++) builders[i].append(row[i]);
    assembler.count++;
  };
}

/** The object of a line; null of a blank one. */
function parseLine({ bytes, starts, ends, isText }: LineBlock, i: number): JsonObject | null {
  if (starts[i] === ends[i]) return null;
  if (!isText) checkUtf8(bytes, starts[i], ends[i]);
  const text = textOf(bytes, starts[i], ends[i]);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (text.trim() === '') return null;
    throw error;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`expected a JSON object, got ${text.slice(0, 40)}`);
  }
  return hasLarge(value) ? (parseExact(text) as JsonObject) : (value as JsonObject);
}

/** True where JSON.parse may have rounded an integer. */
function hasLarge(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (hasLarge(value[i])) return true;
    return false;
  }
  for (const key in value) if (hasLarge((value as JsonObject)[key])) return true;
  return false;
}
