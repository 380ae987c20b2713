/**
 * Marks of the files that a plan was made of, one in each of its lines, so that it is not applied
 * to files that were changed since: a checksum of the row's file, and one of all files in order.
 */

import { stat } from 'node:fs/promises';
import { FormatError } from '../../base/format-error';
import { checksumOf } from '../../formats/file-io';
import { shardsOf } from '../../formats/shards';
import { fileChecksum } from '../../stored/manifest';
import type { Call } from '../call';
import { isIndexFolder } from './index-folder';
import { type Input, nameOfInput } from './open-input';

/** Checksums of the files of an input; null of stdin, pipes, folders of texts, indexes. */
export async function marksOf(call: Call, input: Input): Promise<SourceMarks | null> {
  if ([input].flat().includes('-')) return null;
  if (typeof input === 'string' && (await isIndexFolder(input))) return null;
  const files = (await shardsOf(input)) ?? [input].flat();
  for (const file of files) if (!(await stat(file)).isFile()) return null;
  const sums = new Map<string, string>();
  for (const file of files) sums.set(file, await checksumOf(file, call.signal));
  return new SourceMarks(input, sums);
}

export class SourceMarks {
  /** Of all files, in their order. */
  readonly #all: string;
  /** Of each file, the half of its checksum that marks have. */
  readonly #halves: ReadonlyMap<string, string>;

  /** `sums` are checksums by file. */
  constructor(
    readonly input: Input,
    readonly sums: ReadonlyMap<string, string>,
  ) {
    this.#halves = new Map(Array.from(sums, ([file, sum]) => [file, sum.slice(8)]));
    const halves = [...this.#halves.values()];
    this.#all = fileChecksum(new TextEncoder().encode(halves.join())).slice(8);
  }

  /** What a line of a row of `file`, the only one if undefined, has. */
  markOf(file: string | undefined): string {
    const [first] = this.sums.keys();
    return `${this.#halves.get(file ?? first)}-${this.#all}`;
  }

  /** Throws, naming files that were changed, unless a plan's lines have the marks of these. */
  check(marks: ReadonlySet<string>, planPath: string): void {
    const other = [...marks].find((mark) => mark.split('-')[1] !== this.#all);
    if (other === undefined) return;
    const planned = new Set([...marks].map((mark) => mark.split('-')[0]));
    const changed = [...this.#halves].flatMap(([file, sum]) => (planned.has(sum) ? [] : [file]));
    const which = changed.length > 0 ? changed.join(', ') : nameOfInput(this.input);
    // Files without a row in the plan are not known by themselves.
    const what = changed.length > 1 ? 'some of these changed' : 'changed';
    const how = changed.length > 0 ? what : 'there were other files, or in another order,';
    throw new FormatError(`${how} since ${planPath} was made: make the plan again`, which);
  }
}
