/** The files of the newest generation of a folder. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  filesOf,
  type Manifest,
  manifestGeneration,
  manifestName,
  parseManifest,
} from '../../src/store/manifest';
import {
  MissingFileError,
  type NamedFile,
  type Place,
  type TargetRange,
} from '../../src/store/place';
import { batchAt, footerStart, readFooter, TAIL_BYTES } from '../../src/table/arrow/messages';
import { checkFileSize } from '../../src/table/sealed/seal';

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

/** The files of a folder as bytes at hand: no file system between. */
export class BytesPlace implements Place {
  readonly name = 'files';

  constructor(private readonly files: ReadonlyMap<string, Uint8Array>) {}

  static of(folder: string): BytesPlace {
    const names = readdirSync(folder);
    return new BytesPlace(new Map(names.map((name) => [name, readFileSync(join(folder, name))])));
  }

  async manifest(): Promise<Manifest | null> {
    const generations = Array.from(this.files.keys(), manifestGeneration);
    const newest = Math.max(...generations.map((one) => one ?? 0));
    const name = manifestName(newest);
    const bytes = this.files.get(name);
    return bytes === undefined ? null : parseManifest(bytes, `${this.name}/${name}`, newest);
  }

  async read(
    { name, bytes }: NamedFile,
    ranges: readonly TargetRange[],
    memory: Uint8Array,
    signal?: AbortSignal,
  ): Promise<void> {
    const path = `${this.name}/${name}`;
    const file = this.files.get(name);
    if (file === undefined) throw new MissingFileError(path);
    checkFileSize(file.length, bytes, path);
    await null;
    signal?.throwIfAborted();
    for (const { at, length, to } of ranges) memory.set(file.subarray(at, at + length), to);
  }

  async close(): Promise<void> {}
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
