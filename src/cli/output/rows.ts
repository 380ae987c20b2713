/**
 * Where results go: rows to a file, a stream or a table for people, pages to a file. A file is
 * there whole or not at all, and is not written over without --force.
 */

import { Writable } from 'node:stream';
import { openOutput as openFile, type RowOutput, StreamOutput } from '../../formats/file-io';
import { shardsOf } from '../../formats/shards';
import { type CreateRowsOptions, createRows, type RowFormat, type RowWriter } from '../../node';
import type { Call } from '../call';
import { PeopleTable } from './table';

/** Formats that a terminal cannot show. */
const BINARY: readonly string[] = ['arrow', 'arrows', 'parquet'];

/** What outputs need besides the options of the call. */
interface OutputOptions {
  /** Files that must not be overwritten. */
  readonly inputs: readonly string[];
  /** How the codes were made, or what the rows are, which Arrow files hold and are sealed by. */
  readonly header?: CreateRowsOptions['header'];
}

/** Opens -o, or stdout without it; what was not closed when the verb ends is discarded. */
export async function openOutput(call: Call, options: OutputOptions): Promise<RowWriter> {
  const writer = await writerFor(call, options);
  call.atEnd(() => writer.abort());
  return writer;
}

/** Opens an output of Arrow's bytes: a file, or stdout for '-'. */
export async function openBytes(
  call: Call,
  target: string,
  inputs: readonly string[],
): Promise<RowOutput> {
  if (target === '-') refuseTerminal(call, 'arrow');
  const output =
    target === '-'
      ? new StreamOutput(process.stdout)
      : await openFile(target, { force: call.has('force'), inputs });
  call.atEnd(() => output.abort());
  return output;
}

function refuseTerminal(call: Call, format: string): void {
  if (!call.isTerminal || !BINARY.includes(format)) return;
  call.misuse(`${format} is not for a terminal: write it to a file by -o, or into a pipe`);
}

/** A file of -o, a table on a terminal, or else a stream on stdout, JSON lines by default. */
async function writerFor(call: Call, { inputs, header }: OutputOptions): Promise<RowWriter> {
  const target = call.text('output') ?? '-';
  const format = (call.isJson ? 'json' : call.text('to')) as RowFormat | undefined;
  const own = {
    formulas: call.text('formulas') as 'keep' | 'text',
    header: isArrow(format, target) ? header : undefined,
  };
  if (target !== '-') {
    const named = inputs.filter((input) => input !== '-');
    const shards = await Promise.all(named.map((one) => shardsOf(one).catch(() => null)));
    const files = named.flatMap((one, i) => shards[i] ?? [one]);
    return createRows(target, { ...own, format, force: call.has('force'), inputs: files });
  }
  if (!call.isTerminal) return createRows('-', { ...own, format: format ?? 'jsonl' });
  if (format === undefined) {
    return new PeopleTable({
      width: process.stdout.columns || 80,
      isColored: isColored(),
      write: (text) => call.printStyled(text),
    });
  }
  refuseTerminal(call, format);
  const terminal = new Writable({
    write: (bytes, _, done) => void call.print(String(bytes)).then(() => done(), done),
  });
  return createRows(terminal, { ...own, format });
}

/**
 * True where people look at the result on a terminal, in place of rows: no output is named and no
 * format. Verbs then show a summary only.
 */
export function isForPeople(call: Call): boolean {
  return call.isTerminal && !['output', 'json', 'to'].some((name) => call.has(name));
}

/** Only Arrow files have a header. */
function isArrow(format: RowFormat | undefined, target: string): boolean {
  if (format !== undefined) return format === 'arrow' || format === 'arrows';
  return /\.(arrow|arrows|feather|ipc)$/i.test(target);
}

/** Colours are for a terminal whose user did not forbid them (no-color.org). */
function isColored(): boolean {
  const { NO_COLOR, TERM } = process.env;
  return process.stdout.isTTY === true && !NO_COLOR && TERM !== 'dumb';
}

/** The file of a page or of its data, named by -o. */
export class PageFile {
  /** Whether it holds data for machines, not a page. */
  readonly isData: boolean;

  private constructor(
    readonly path: string,
    private readonly options: { readonly force: boolean; readonly inputs: readonly string[] },
  ) {
    this.isData = path.endsWith('.json');
  }

  /**
   * The file of -o; null where that is stdout. Fails where the file exists and --force is not
   * given, where it is one of the inputs, and where it cannot be written.
   */
  static async named(call: Call, inputs: readonly string[]): Promise<PageFile | null> {
    const path = call.text('output');
    if (path === undefined || path === '-') return null;
    if (!/\.(html?|json)$/i.test(path)) {
      call.misuse(`-o expected a name that ends in .html or .json, got ${path}`);
    }
    const file = new PageFile(path, { force: call.has('force'), inputs });
    if (call.isJson && !file.isData) call.misuse('--json writes a .json file');
    await (await openFile(path, file.options)).abort();
    return file;
  }

  /** Writes the file, whole or not at all. */
  async write(text: string): Promise<void> {
    const output = await openFile(this.path, this.options);
    try {
      await output.write([new TextEncoder().encode(text)]);
      await output.close();
    } catch (error) {
      await output.abort();
      throw error;
    }
  }
}
