/**
 * What a plan's file says of its source besides the plan itself, which `readPlan` reads: the ids of
 * its rows, and marks of the files that they came from, so that a plan is not applied to files that
 * were changed since. The mark in a line is a checksum of the row's file, `-`, and a checksum of
 * all files in their order: 8 hexadecimal digits each.
 */

import { stat } from 'node:fs/promises';
import { FormatError } from '../../base/format-error';
import { textOfFormula } from '../../formats/csv/csv-text';
import { checksumOf } from '../../formats/file-io';
import { shardsOf } from '../../formats/shards';
import { isAddress, stateOf } from '../../formats/web-source';
import { openRows } from '../../node';
import { isIndexFolder } from '../../store/generations';
import { fileChecksum } from '../../table/sealed/file-checksum';
import type { Call } from '../call';
import { type Input, nameOfInput } from './open-input';

/**
 * Reads the files of an input for their checksums; of an address that of what its host says of the
 * file. Null where there are none to compare: for stdin, pipes, folders of texts and indexes.
 */
export async function marksOf(call: Call, input: Input): Promise<SourceMarks | null> {
  if ([input].flat().includes('-')) return null;
  if (typeof input === 'string' && (await isIndexFolder(input))) return null;
  const files = (await shardsOf(input)) ?? [input].flat();
  for (const file of files) {
    if (!isAddress(file) && !(await stat(file)).isFile()) return null;
  }
  const sums = new Map<string, string>();
  for (const file of files) {
    const sum = isAddress(file)
      ? await sumOfState(call, file)
      : await checksumOf(file, call.signal);
    if (sum === null) return null;
    sums.set(file, sum);
  }
  return new SourceMarks(input, sums);
}

/** A checksum of the size and mark that a host gives a file; null where it gives no mark. */
async function sumOfState(call: Call, address: string): Promise<string | null> {
  const { size, version } = await stateOf(address, call.fileStates);
  return version && fileChecksum(new TextEncoder().encode(`${size} ${version}`));
}

/** The checksums of an input's files as they are now. */
export class SourceMarks {
  /** The second part of every mark: of all files, in their order. */
  readonly #all: string;
  /** The first part of a mark, by file: the last 8 of the 16 digits of its checksum. */
  readonly #halves: ReadonlyMap<string, string>;

  /** `sums` are the checksums of the files, in the order of the input. */
  constructor(
    readonly input: Input,
    readonly sums: ReadonlyMap<string, string>,
  ) {
    this.#halves = new Map(Array.from(sums, ([file, sum]) => [file, sum.slice(8)]));
    const halves = [...this.#halves.values()];
    this.#all = fileChecksum(new TextEncoder().encode(halves.join())).slice(8);
  }

  /** The mark of a row in `file`; undefined for the only file of an input. */
  markOf(file: string | undefined): string {
    const [first] = this.sums.keys();
    return `${this.#halves.get(file ?? first)}-${this.#all}`;
  }

  /** Throws, naming the files that were changed, unless these files have all marks of a plan. */
  check(marks: ReadonlySet<string>, planPath: string): void {
    const other = [...marks].find((mark) => mark.split('-')[1] !== this.#all);
    if (other === undefined) return;
    const planned = new Set([...marks].map((mark) => mark.split('-')[0]));
    const changed = [...this.#halves].flatMap(([file, sum]) => (planned.has(sum) ? [] : [file]));
    const which = changed.length > 0 ? changed.join(', ') : nameOfInput(this.input);
    // A file of which the plan has no line is listed too, changed or not: hence "some of these".
    const what = changed.length > 1 ? 'some of these changed' : 'changed';
    const how = changed.length > 0 ? what : 'there were other files, or in another order,';
    throw new FormatError(`${how} since ${planPath} was made: make the plan again`, which);
  }
}

interface PlanLines {
  /** By row its id as text, undefined for a row without a line; null if lines have no ids. */
  readonly ids: (string | null | undefined)[] | null;
  /** The marks of the files of the rows, each once; none in older plans. */
  readonly marks: ReadonlySet<string>;
}

/** Reads the ids and marks of a plan for `count` rows; lines may be in any order. */
export async function linesOfPlan(path: string, count: number): Promise<PlanLines> {
  const plan = await openRows(path);
  await plan.close();
  const has = (column: string) => plan.columns.some(({ name }) => name === column);
  const ids: PlanLines['ids'] = has('id') ? Array(count).fill(undefined) : null;
  const marks = new Set<string>();
  const columns = ['row', 'id', 'source'].filter(has);
  if (columns.length === 1) return { ids, marks };
  const types: Record<string, 'text'> = ids === null ? {} : { id: 'text' };
  for await (const batch of await openRows(path, { columns, types })) {
    const own = has('source') ? batch.values('source') : [];
    for (const mark of own) if (mark !== null && mark !== '') marks.add(String(mark));
    if (ids === null) continue;
    const names = batch.values('id');
    batch.values('row').forEach((row, i) => {
      const id = names[i] === null ? null : String(names[i]);
      // In CSV a text that a spreadsheet could run has an apostrophe in front.
      ids[Number(row)] = id === null || plan.format !== 'csv' ? id : textOfFormula(id);
    });
  }
  return { ids, marks };
}
