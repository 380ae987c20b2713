/** What an index folder says of itself, and whether it is sound. */

import { IndexFolder } from '../../node';
import type { Call } from '../call';
import { bytesText, grouped } from '../output/figures';
import { columnWords, sizeWords, textWords } from '../output/folder-words';
import type { FolderFacts } from './index-page';

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
