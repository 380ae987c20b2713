/** The files of the newest generation of a folder. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesOf, type Manifest } from '../../src/store/manifest';
import type { Place } from '../../src/store/place';
import { batchAt, footerStart, readFooter, TAIL_BYTES } from '../../src/table/arrow/messages';

/** Path of the newest manifest. */
export function newestIn(folder: string): string {
  const names = readdirSync(folder).filter((name) => /^manifest-\d+\.json$/.test(name));
  return join(folder, names.sort().at(-1) as string);
}

/** Path of the first file of a kind that the newest manifest names. */
export function fileOf(folder: string, kind: string): string {
  const manifest = JSON.parse(readFileSync(newestIn(folder), 'utf8')) as Manifest;
  const found = filesOf(manifest).find((file) => file.kind === kind);
  return join(folder, found?.name ?? `no file of ${kind}`);
}

/** The files of a folder as a page has them. */
export function blobsIn(folder: string): Map<string, Blob> {
  const blobOf = (name: string) => new Blob([readFileSync(join(folder, name))]);
  return new Map(readdirSync(folder).map((name) => [name, blobOf(name)]));
}

/** The batches of an Arrow file: where their bodies lie, and the buffers of these. */
export function bodiesOf(file: Uint8Array): ReturnType<typeof batchAt>[] {
  const start = footerStart(file.subarray(-TAIL_BYTES), file.length);
  const { blocks } = readFooter(file.subarray(start, -TAIL_BYTES), start);
  return blocks.map(({ offset }) => batchAt(file, offset));
}

/** Ranges of a file, each a copy. */
export async function rangesIn(
  place: Place,
  file: { name: string; bytes: number },
  ranges: readonly { at: number; length: number }[],
  signal?: AbortSignal,
): Promise<Uint8Array[]> {
  const ends = ranges.map((_, i) =>
    ranges.slice(0, i + 1).reduce((sum, one) => sum + one.length, 0),
  );
  const targets = ranges.map((range, i) => ({ ...range, to: ends[i] - range.length }));
  const memory = new Uint8Array(ends.at(-1) ?? 0);
  await place.read(file, targets, memory, signal);
  return targets.map(({ to, length }) => memory.slice(to, to + length));
}
