/** Rows out: a file that is there whole or not at all, a stream, or a table for people. */

import { type CodeHeader, createRows, type RowFormat, type RowWriter } from '../../node';
import type { Call } from '../call';
import { PeopleTable } from './people-table';

/** Formats that a terminal cannot show. */
const BINARY: readonly string[] = ['arrow', 'arrows', 'parquet'];

export interface OutputOptions {
  /** Files that must not be overwritten. */
  readonly inputs: readonly string[];
  /** How the codes were made, which Arrow files hold in their metadata. */
  readonly header?: CodeHeader;
}

/** Opens -o, or stdout without it; what was not closed when the verb ends is discarded. */
export async function openOutput(call: Call, options: OutputOptions): Promise<RowWriter> {
  const writer = await writerFor(call, options);
  call.atEnd(() => writer.abort());
  return writer;
}

async function writerFor(call: Call, { inputs, header }: OutputOptions): Promise<RowWriter> {
  const target = call.text('output');
  const to = (call.isJson ? 'json' : call.text('to')) as RowFormat | undefined;
  if (target !== undefined && target !== '-') {
    return createRows(target, {
      ...(to !== undefined && { format: to }),
      ...{ force: call.has('force'), inputs: inputs.filter((input) => input !== '-') },
      ...(header !== undefined && isArrow(to, target) && { header }),
    });
  }
  if (call.isTerminal && to === undefined) {
    return new PeopleTable({
      width: process.stdout.columns || 80,
      isColored: isColored(),
      write: (text) => call.print(text),
    });
  }
  if (call.isTerminal && BINARY.includes(to as string)) {
    call.misuse(`${to} is not for a terminal: write it to a file by -o, or into a pipe`);
  }
  const format = to ?? 'jsonl';
  return createRows('-', { format, ...(header !== undefined && isArrow(to) && { header }) });
}

/**
 * True where people look at the result on a terminal, in place of rows: no output is named and no
 * format. Verbs then show a summary only.
 */
export function isForPeople(call: Call): boolean {
  return call.isTerminal && !['output', 'json', 'to'].some((name) => call.has(name));
}

/** Only Arrow files have a header. */
function isArrow(format: RowFormat | undefined, target = ''): boolean {
  if (format !== undefined) return format === 'arrow' || format === 'arrows';
  return /\.(arrow|arrows|feather|ipc)$/i.test(target);
}

/** Colours are for a terminal whose user did not forbid them (no-color.org). */
function isColored(): boolean {
  const { NO_COLOR, TERM } = process.env;
  return process.stdout.isTTY === true && !NO_COLOR && TERM !== 'dumb';
}
