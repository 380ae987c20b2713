/** Rows out: a file that is there whole or not at all, a stream, or a table for people. */

import type { RowFormat, RowWriter } from '../../node';
import type { Call, RowsOptions } from '../call';
import { PeopleTable } from './people-table';

/** What a terminal can not show. */
const BINARY: readonly string[] = ['arrow', 'arrows', 'parquet'];

export async function openOutput(
  call: Call,
  target: string | undefined,
  { inputs, header }: RowsOptions & { readonly inputs: readonly string[] },
): Promise<RowWriter> {
  const to = (call.isJson ? 'json' : call.text('to')) as RowFormat | undefined;
  const files = inputs.filter((input) => input !== '-');
  if (target !== undefined && target !== '-') {
    const { createRows } = await import('../../node');
    return createRows(target, {
      ...(to !== undefined && { format: to }),
      ...{ force: call.flag('force'), inputs: files },
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
  const { createRows } = await import('../../node');
  return createRows('-', {
    format: to ?? 'jsonl',
    ...(header !== undefined && isArrow(to) && { header }),
  });
}

/** Only Arrow files have a header. */
function isArrow(format: RowFormat | undefined, target = ''): boolean {
  if (format !== undefined) return format === 'arrow' || format === 'arrows';
  return /\.(arrow|arrows|feather|ipc)$/i.test(target);
}

/** Colours are for a terminal whose user did not forbid them (no-color.org). */
export function isColored(): boolean {
  const { NO_COLOR, TERM } = process.env;
  return process.stdout.isTTY === true && !NO_COLOR && TERM !== 'dumb';
}
