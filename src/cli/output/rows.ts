/**
 * Where results go, by -o, --to, --json and the terminal: rows to a file, to stdout or into a table
 * for people, bytes to a file. A file is there whole or not at all, and an existing one is not
 * replaced without --force.
 */

import { Writable } from 'node:stream';
import { hex } from '../../formats/column-kinds';
import { OUTPUT_FORMATS } from '../../formats/create-rows';
import { openOutput as openFile } from '../../formats/file-io';
import { formatOfPath } from '../../formats/row-reader';
import { shardsOf } from '../../formats/shards';
import { type CreateRowsOptions, createRows, type RowFormat, type RowWriter } from '../../node';
import type { Call } from '../call';
import { jsonOf, printable, tableLines } from './figures';

interface OutputOptions {
  /** Inputs of the verb, which are never replaced. */
  readonly inputs: readonly string[];
  /** How codes were made, or what the rows are: stored in Arrow outputs, which are then sealed. */
  readonly header?: CreateRowsOptions['header'];
}

/** Opens -o, else stdout. An output that is not closed when the verb ends is discarded. */
export async function openOutput(call: Call, options: OutputOptions): Promise<RowWriter> {
  const writer = await writerFor(call, options);
  call.atEnd(() => writer.abort());
  return writer;
}

/** Opens a file for bytes, which the function that it returns writes: all of the file. */
export async function openBytes(
  call: Call,
  target: string,
  inputs: readonly string[],
): Promise<(bytes: Uint8Array) => Promise<void>> {
  if (target === '-') call.misuse('-o expected the name of a file, not stdout');
  const output = await openFile(target, { force: call.has('force'), inputs });
  call.atEnd(() => output.abort());
  return async (bytes) => {
    await output.write([bytes]);
    await output.close();
  };
}

/**
 * The format of rows: by --json or --to, else by the name of -o, null for an unknown one. Without
 * these rows go to stdout: as JSON lines, or on a terminal as a table, null.
 */
export function outputFormat(call: Call): RowFormat | null {
  const format = call.has('json') ? 'jsonl' : call.text('to');
  if (format !== undefined) return format as RowFormat;
  const target = call.text('output') ?? '-';
  if (target !== '-') return formatOfPath(target);
  return call.isTerminal ? null : 'jsonl';
}

/** The writer of -o, else of stdout, in the format of `outputFormat`. */
async function writerFor(call: Call, { inputs, header }: OutputOptions): Promise<RowWriter> {
  const target = call.text('output') ?? '-';
  const format = outputFormat(call);
  const own = { header, ...(format && { format }) };
  if (target !== '-') {
    if (!OUTPUT_FORMATS.some((one) => one === format)) {
      const names = OUTPUT_FORMATS.map((one) => `.${one}`).join(', ');
      call.misuse(`--output expected a name in ${names}, or any and --to, got "${target}"`);
    }
    // An input may be a folder or a pattern: none of its files is replaced either.
    const named = inputs.filter((input) => input !== '-');
    const shards = await Promise.all(named.map((one) => shardsOf(one).catch(() => null)));
    const files = named.flatMap((one, i) => shards[i] ?? [one]);
    return createRows(target, { ...own, force: call.has('force'), inputs: files });
  }
  if (!call.isTerminal) return createRows(call.stdout, own);
  if (format === null) {
    return peopleTable(call.stdout.columns || 80, (text) => call.print(text));
  }
  if (['arrow', 'arrows', 'parquet'].includes(format)) {
    call.misuse(`${format} is not for a terminal: write it to a file by -o, or into a pipe`);
  }
  // Through `print`, which replaces characters that the terminal would obey.
  const terminal = new Writable({
    write: (bytes, _, done) => void call.print(String(bytes)).then(() => done(), done),
  });
  return createRows(terminal, own);
}

/**
 * True if stdout is a terminal, and no output and no format is asked for. Verbs with a summary, as
 * `dedup`, then show it alone, without rows.
 */
export function isForPeople(call: Call): boolean {
  return call.isTerminal && !['output', 'to', 'json'].some((name) => call.has(name));
}

/** Writes batches of the same columns as a table each, the first with a heading. */
export function peopleTable(width: number, write: (text: string) => Promise<void>): RowWriter {
  let rowCount = 0;
  return {
    get rowCount() {
      return rowCount;
    },
    async write(batch) {
      if (batch.count === 0) return;
      const names = batch.columns.map(({ name }) => cellText(name));
      const values = batch.columns.map(({ name }) => batch.values(name));
      const rows = Array.from({ length: batch.count }, (_, row) =>
        values.map((column) => cellText(column[row])),
      );
      // The heading of later batches only sets the widths.
      const lines = tableLines([names, ...rows], width).slice(Math.min(1, rowCount));
      rowCount += batch.count;
      await write(`${lines.join('\n')}\n`);
    },
    async close() {
      if (rowCount === 0) await write('no rows\n');
    },
    async abort() {},
  };
}

/**
 * A value of any column on one line, at most 2,000 characters before control characters are
 * replaced: bytes as hexadecimal, lists and objects as JSON, fractions with four digits.
 */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') {
    const isPlain = Math.abs(value) >= 1e-4 && Math.abs(value) < 1e9;
    return isPlain && !Number.isInteger(value) ? value.toFixed(4) : String(value);
  }
  if (value instanceof Uint8Array) return hex(value);
  const text = typeof value === 'object' ? JSON.stringify(value, jsonOf) : String(value);
  return printable(text.slice(0, 2000).replaceAll(/\s+/g, ' '));
}
