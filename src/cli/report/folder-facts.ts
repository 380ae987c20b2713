/** What an index folder says of itself, and whether it is sound. */

import { type IndexFolder, verifyIndex } from '../../node';
import type { Call } from '../call';
import { bytesText, counted, grouped } from '../figures';
import type { FolderFacts } from './index-page';

export async function folderFacts(call: Call, folder: IndexFolder): Promise<FolderFacts> {
  const { path, generation, rowCount, options, text, files, columnInfo } = folder;
  const { bits, projection, seed, dimensions, keep, mean } = options;
  const { problems } = await call.long('verifying', (work) => verifyIndex(path, work));
  const size = files.reduce((sum, file) => sum + file.bytes, 0);
  const facts: (readonly [name: string, value: string | undefined])[] = [
    ['rows', grouped(rowCount)],
    ['codes', `${bits} bits, projection ${projection}, seed ${seed ?? 0}`],
    ['dimensions', dimensions === undefined ? undefined : grouped(dimensions)],
    ['vectors kept', keep ?? 'none'],
    ['mean', mean === undefined ? undefined : 'subtracted from vectors before they are hashed'],
    [
      'texts',
      text === null
        ? undefined
        : Object.entries(text)
            .map((one) => one.join(' '))
            .join(', '),
    ],
    ['columns', columnInfo.map(({ name, type }) => `${name} (${type})`).join(', ') || 'none'],
    ['generation', String(generation)],
    ['size', `${bytesText(size)} in ${counted(files.length, 'file')}`],
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
