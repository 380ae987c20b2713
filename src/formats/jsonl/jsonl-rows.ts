/**
 * Reads JSON lines: an object on each line. The columns and their types are those of the first
 * lines; a later value that does not fit is an error that names its line, and is never changed
 * silently.
 */

import { FormatError } from '../../base/format-error';
import type { RowBatch } from '../../table/row-batch';
import { type ColumnPlan, RowAssembler } from '../../table/row-batch';
import type { ByteSource } from '../byte-source';
import { checkUtf8, type LineBlock, lineBlocks, textOf } from '../byte-source';
import { fitter, kindOf, lateColumn } from '../column-kinds';
import { checkColumnCount, checkColumns, type FormatRows, type ReadOptions } from '../row-reader';
import { parseExact } from './json-text';

/** Rows and bytes that decide the types, before the first batch. */
const FIRST_ROWS = 5000;
const FIRST_BYTES = 1 << 22;

type JsonObject = Record<string, unknown>;

/** The object of a line. */
interface Line {
  readonly value: JsonObject;
  /** The block that has the line, and the line's index there. */
  readonly block: LineBlock;
  readonly at: number;
}

/** Reads rows of JSON lines; memory holds one block of bytes and one batch. */
export async function jsonlRows(source: ByteSource, options: ReadOptions): Promise<FormatRows> {
  const { name } = source;
  const { types, isWanted = () => true } = options;
  const linesOf = lineReader(options, name);
  const blocks = lineBlocks(source, options.maxLineBytes);
  // All of these lines are parsed, wanted or not, since they decide the columns.
  const first = await firstLines(blocks, (block) => linesOf(block, () => true));
  if (first.length === 0 && options.skips.count > 0) {
    throw new FormatError('no line can be read', name);
  }

  // Nulls for keys that a line lacks are not stored: with a new key on each line, they would take
  // memory in proportion to the square of the lines.
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

  async function* batches(): AsyncGenerator<RowBatch> {
    // The lines that were parsed already come first, and are freed.
    for (let lines: Line[] | null = first.splice(0); lines !== null; ) {
      for (const { value, block, at } of lines) {
        const { bytes, starts, ends, firstLine } = block;
        try {
          add(value);
          options.onRecord?.(bytes, starts[at], starts[at + 1] ?? bytes.length);
        } catch (error) {
          options.skips.skip(firstLine + at, error, name);
        }
        if (assembler.isFullAfter(ends[at] - starts[at])) yield assembler.take();
      }
      const next = await blocks.next();
      lines = next.done ? null : linesOf(next.value, isWanted);
    }
    yield* assembler.rest();
  }
  return { columns: assembler.columns, batches };
}

/** The lines of the first blocks: at least FIRST_ROWS, or FIRST_BYTES of them, or all. */
async function firstLines(
  blocks: AsyncIterator<LineBlock>,
  linesOf: (block: LineBlock) => Iterable<Line>,
): Promise<Line[]> {
  const lines: Line[] = [];
  let bytes = 0;
  while (lines.length < FIRST_ROWS && bytes < FIRST_BYTES) {
    const result = await blocks.next();
    if (result.done) break;
    bytes += result.value.bytes.length;
    for (const line of linesOf(result.value)) lines.push(line);
  }
  return lines;
}

/** Stands for the object of a row that is not parsed. */
const NO_VALUES: JsonObject = {};
const BRACE = 0x7b;

/**
 * Returns a function that gives the objects of a block, for one block after another. Rows that are
 * not wanted are empty objects; blank lines give none, and lines that cannot be read are skipped.
 */
function lineReader({ skips }: ReadOptions, file: string) {
  let row = 0;
  return (block: LineBlock, isWanted: (row: number) => boolean): Line[] => {
    const { bytes, starts } = block;
    const lines: Line[] = [];
    for (let at = 0; at < starts.length; at++) {
      try {
        // Only a line that starts with a brace can be left out unparsed: other lines may be blank
        // or damaged.
        const isLeftOut = bytes[starts[at]] === BRACE && !isWanted(row);
        const value = isLeftOut ? NO_VALUES : parseLine(block, at);
        if (value === null) continue;
        row++;
        lines.push({ value, block, at });
      } catch (error) {
        skips.skip(block.firstLine + at, error, file);
      }
    }
    return lines;
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
      // Most lines have their keys in one order, so the next column is tried first.
      const place = plans[next]?.name === key ? next : places.get(key);
      if (place !== undefined) row[place] = fits[place](value[key]);
      else if (columns === undefined) throw new Error(lateColumn(key));
      next = (place ?? next) + 1;
    }
    const { builders } = assembler;
    // Nothing was appended before all values fitted; keys that a line lacks are nulls.
    for (let i = 0; i < builders.length; i++) builders[i].append(row[i]);
    assembler.count++;
  };
}

/** The object of a line; null for a blank line. Throws for anything else. */
function parseLine({ bytes, starts, ends, isText }: LineBlock, i: number): JsonObject | null {
  if (starts[i] === ends[i]) return null;
  if (!isText) checkUtf8(bytes, starts[i], ends[i]);
  const text = textOf(bytes, starts[i], ends[i]);
  let value: unknown;
  try {
    value = JSON.parse(text);
    if (hasLarge(value)) value = parseExact(text);
  } catch (error) {
    if (text.trim() === '') return null;
    // The engine's words are "Maximum call stack size exceeded".
    if (error instanceof RangeError) throw new Error('values are nested too deeply to be read');
    throw error;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`expected a JSON object, got ${text.slice(0, 40)}`);
  }
  return value as JsonObject;
}

/** Whether JSON.parse may have rounded an integer of a value. */
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
