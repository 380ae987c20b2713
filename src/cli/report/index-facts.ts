/**
 * What the report of an index shows before anything is measured: what its folder says of itself,
 * whether it is sound, and what its rows are called.
 */

import { liveRows } from '../../measure/rows';
import { IndexFolder, type SimHashIndex } from '../../node';
import type { Call } from '../call';
import { Carried, carriedName } from '../input/carried';
import { columnWords, sizeWords, textWords } from '../input/index-folder';
import { bytesText, grouped } from '../output/figures';
import type { FolderFacts, RowNames } from './index-page';

export async function folderFacts(call: Call, folder: IndexFolder): Promise<FolderFacts> {
  const { path, generation, rowCount, options, files } = folder;
  const { bits, projection, seed, dimensions, vectors, mean } = options;
  const { problems } = await call.long('verifying', (work) => IndexFolder.verify(path, work));
  const facts: (readonly [name: string, value: string | undefined])[] = [
    ['rows', grouped(rowCount)],
    ['codes', `${bits} bits, projection ${projection}, seed ${seed ?? 0}`],
    ['dimensions', dimensions === undefined ? undefined : grouped(dimensions)],
    ['vectors', vectors ?? 'none'],
    ['mean', mean === undefined ? undefined : 'subtracted from vectors before they are hashed'],
    ['texts', textWords(folder) ?? undefined],
    ['columns', columnWords(folder)],
    ['generation', String(generation)],
    ['size', sizeWords(folder)],
  ];
  return {
    path,
    facts: facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
    files: files.map(({ name, kind, rows, bytes }) => ({
      name,
      kind,
      rows,
      size: bytesText(bytes),
    })),
    problems,
  };
}

/** Texts are those of the column that `--text` names, or of the first that holds any. */
export async function rowNames(
  call: Call,
  folder: IndexFolder,
  index: SimHashIndex,
): Promise<RowNames> {
  const told = call.text('text');
  const column =
    told === undefined
      ? folder.columnInfo.find(({ fits }) => fits.includes('text'))?.name
      : carriedName(call, folder, told);
  const carried = column === undefined ? null : await Carried.read(folder, index, [column]);
  return {
    idOf: (row) => String(index.idOf(row)),
    areIdsNumbers: typeof index.idOf(liveRows(index)[0]) !== 'string',
    column: column ?? null,
    textOf: (row) => {
      if (carried === null || column === undefined) return null;
      const [value] = carried.valuesOf(column, [row]);
      return value === null ? '' : String(value);
    },
  };
}
