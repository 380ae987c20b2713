/**
 * The plan of `dedup` as it is written: lines of the groups for people, most doubtful group first,
 * with the beginning of each text, or as Arrow a line for each row, for programs; and its figures.
 *
 * The file of a plan has the ids of its rows, and a checksum of the files that they came from, so
 * that a plan is not applied to files that were changed since.
 */

import { stat } from 'node:fs/promises';
import { FormatError } from '../../base/check';
import { checksumOf } from '../../formats/file-io';
import { openRecords } from '../../formats/open-rows';
import { shardsOf } from '../../formats/shards';
import { isAddress, noteFile, stateOf } from '../../formats/web-source';
import { doubtfulRows, eachPlanBatch, type PlanPart } from '../../near/plan-table';
import type { DedupPlan, RowWriter } from '../../node';
import { isIndexFolder } from '../../store/generations';
import { fileChecksum } from '../../table/sealed/seal';
import type { Call } from '../call';
import type { Collection } from '../input/collection';
import { type Input, nameOfInput, STDIN } from '../input/open-input';
import { counted, excerpt, grouped } from './figures';
import { outputFormat } from './rows';

/** Characters of a text in a line of a plan. */
const EXCERPT_CHARACTERS = 160;

interface Planned {
  readonly plan: DedupPlan;
  readonly rows: Collection;
  /** With --against, by row the id of the old row that it is near to, null for none. */
  readonly near?: readonly (string | null)[];
  /** By `sourceOf`, for the column `source`. */
  readonly source: string | null;
}

/** Writes the plan, and closes the writer. */
export async function writePlan(
  call: Call,
  writer: RowWriter,
  { plan, rows, near, source }: Planned,
): Promise<void> {
  const format = outputFormat(call);
  // These formats have a line for each row in place of those of groups, and no texts.
  const isOfAll = format === 'arrow' || format === 'arrows';
  const listed = isOfAll ? rows.rows : doubtfulRows(plan, rows.rows[0]);
  const texts = await rows.texts.of(isOfAll ? [] : [...listed], (_, text) =>
    excerpt(text, EXCERPT_CHARACTERS),
  );
  const part: PlanPart = {
    rows: listed,
    ids: rows.ids,
    textOf: texts.size > 0 ? (row) => texts.get(row) ?? '' : undefined,
    nearOf: near && ((row) => near[row]),
    source: source ?? undefined,
  };
  await eachPlanBatch(plan, part, (batch) => writer.write(batch));
  await writer.close();
}

export const droppedOf = ({ kept }: DedupPlan) => kept.reduce((sum, one) => sum + 1 - one, 0);

/**
 * How many rows stay, and of which groups. `rows` is how many there are, without those removed from
 * an index, which the plan counts too.
 */
export function summaryText(plan: DedupPlan, rows: number): string {
  const { count, groups, commons } = plan;
  const sizes = new Uint32Array(count);
  for (const group of groups) sizes[group]++;
  const many = sizes.reduce((sum, size) => sum + Number(size > 1), 0);
  const dropped = droppedOf(plan);
  const share = rows === 0 ? 0 : (100 * dropped) / rows;
  const largest = sizes.reduce((most, size) => Math.max(most, size), 0);
  const counts =
    `${counted(rows, 'row')}: ${grouped(rows - dropped)} to keep, ${grouped(dropped)} to drop ` +
    `(${share.toFixed(1)} %), in ${counted(many, 'group')} of two or more` +
    (dropped === 0 ? '' : `, the largest of ${grouped(largest)}`);
  return commons === undefined ? counts : `${counts}\n${commonText(commons, groups)}`;
}

/** How much of the rows is common text, and how many groups have nothing else. */
function commonText(commons: Float64Array, groups: Uint32Array): string {
  const half = commons.reduce((sum, share) => sum + Number(share >= 0.5), 0);
  const bare = new Map<number, number>();
  commons.forEach((share, row) => {
    if (share === 1) bare.set(groups[row], (bare.get(groups[row]) ?? 0) + 1);
  });
  const joined = [...bare.values()].filter((rows) => rows > 1).length;
  return (
    `Common text makes no rows near: it is half or more of ${counted(half, 'row')}; ` +
    `${counted(joined, 'group')} of nothing but common text have "common" 1 in the plan; ` +
    '--common none compares whole texts'
  );
}

/**
 * The checksum of the bytes of stdin, of a folder of texts, or of the files of an input in their
 * order: what was not read from front to back is read. Of an address it is of what its host says of
 * the file. Null where there are no bytes to compare: for indexes and for pipes by name.
 */
export async function sourceOf(call: Call, input: Input): Promise<string | null> {
  if (input === '-') return call.fileStates.get(STDIN)?.checksum ?? null;
  if (typeof input === 'string' && (await isIndexFolder(input))) return null;
  const files = (await shardsOf(input)) ?? [input].flat();
  const sums: string[] = [];
  for (const file of files) {
    if (isAddress(file)) {
      const { size, version } = await stateOf(file, call.fileStates);
      if (!version) return null;
      sums.push(textSum(`${size} ${version}`));
      continue;
    }
    const found = await stat(file, { bigint: true });
    if (found.isDirectory()) {
      sums.push(await sumOfTexts(call, file));
      continue;
    }
    if (!found.isFile()) return null;
    // The file must be as it was where it was read.
    noteFile(call.fileStates, file, found);
    const known = call.fileStates.get(file)?.checksum;
    const halt = () => call.signal.throwIfAborted();
    sums.push(known ?? (await checksumOf(file, Number(found.size), halt)));
  }
  return sums.length === 1 ? sums[0] : textSum(sums.join());
}

/** The checksum of a folder of texts, which is read where it was not yet. */
async function sumOfTexts({ fileStates: states, signal }: Call, folder: string): Promise<string> {
  if (!states.has(folder)) {
    const rows = await openRecords(folder, { format: 'text', columns: [] }, { states });
    for await (const _ of rows) signal.throwIfAborted();
  }
  return states.get(folder)?.checksum as string;
}

/** Throws unless the files of an input are those that a plan names, if it names any. */
export function checkSource(
  input: Input,
  source: string | null,
  sources: ReadonlySet<string>,
  planPath: string,
): void {
  if (source === null || [...sources].every((one) => one === source)) return;
  const message = `changed since ${planPath} was made: make the plan again`;
  throw new FormatError(message, nameOfInput(input));
}

const textSum = (text: string) => fileChecksum(new TextEncoder().encode(text));
