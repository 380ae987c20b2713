/**
 * Merges folders that were built like one folder, with rows that follow one another: their segments
 * are linked, or copied, into a new folder under one manifest. No row is read.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkBoolean, checkOptions, wrongType, wrongValue } from '../base/check';
import { LONG_CALL, type LongCall } from '../base/long-work';
import { writeSynced } from '../formats/file-io';
import { IndexCore } from '../index/index-core';
import { afterChanges, checkIndexOptions, type OptimizeOptions } from '../index/index-options';
import type { Space } from '../index/space';
import { Zeros } from '../index/vectors/rounding';
import { openRowless } from './content';
import { EvaluatedParts, type EvaluationRows, reportOfAnswers } from './evaluated-parts';
import { FolderPlace, withContent } from './folder-place';
import { GenerationWriter, neededManifest, prepareNew } from './generations';
import { refuseEqualIds } from './id-hashes';
import {
  type FileKind,
  type FolderFile,
  type IndexHeader,
  type Manifest,
  optionsOf,
  type SegmentFiles,
} from './manifest';
import { checkWantedInFiles } from './optimize-stored';
import { Reader } from './reader';

export interface MergeOptions extends LongCall {
  /** Replaces the index of the folder. */
  readonly replace?: boolean | undefined;
  /**
   * Reads manifests only, and compares no ids: the files of the parts are in the folder, or will
   * be. @internal
   */
  readonly manifestsOnly?: boolean | undefined;
  /**
   * What all parts answer to these queries, as files of this name in the parts say, chooses a
   * setting, or becomes such a file for a further merge. Without it, as with a file, the setting of
   * the first part stays. @internal
   */
  readonly evaluated?: EvaluatedMerge | undefined;
}

interface EvaluatedMerge {
  readonly file: string;
  readonly rows: EvaluationRows;
  readonly optimize: OptimizeOptions;
  /** Whether the answers become a file, and choose nothing. */
  readonly isPart: boolean;
}

/** A folder and its newest manifest. */
interface Part {
  readonly part: string;
  readonly manifest: Manifest;
}

export async function mergeFolders(
  folder: string,
  folders: readonly string[],
  options: MergeOptions | undefined,
): Promise<Manifest> {
  const flags = { replace: checkBoolean, manifestsOnly: checkBoolean };
  const known = { ...flags, evaluated: null, ...LONG_CALL };
  const { replace = false, manifestsOnly, evaluated, ...call } = checkOptions(options, known);
  if (!Array.isArray(folders)) throw wrongType('parts', 'an array of folders', folders);
  if (folders.length === 0) throw wrongValue('parts', 'at least one folder', 0);
  const parts = await inOrder(folders);
  checkParts(parts);
  const manifests = parts.map(({ manifest }) => manifest);
  const [{ part: firstPart, manifest: first }] = parts;
  const base = await prepareNew(folder, replace);
  const index = headerOf(manifests);
  const writer = new GenerationWriter(folder, base);
  return writer.run(async () => {
    const segments: SegmentFiles[] = [];
    const take = async (file: FolderFile, part: string) =>
      manifestsOnly ? file : writer.take(file, part);
    for (const [i, { part, manifest }] of parts.entries()) {
      for (const segment of manifest.segments) {
        call.signal?.throwIfAborted();
        const files: { [kind in FileKind]?: FolderFile } = {};
        for (const file of Object.values(segment.files)) files[file.kind] = await take(file, part);
        segments.push({ ...segment, files });
      }
      call.onProgress?.(i + 1, parts.length);
    }
    const { space, frequencies } = first.files;
    const files = {
      space: space && (await take(space, firstPart)),
      frequencies: frequencies && (await take(frequencies, firstPart)),
    };
    const rows = manifests.reduce((sum, one) => sum + one.rows, 0);
    const { columns, text } = first;
    const made = { rows, index, columns, text, segments, files };
    if (!manifestsOnly) {
      const manifest = { generation: writer.generation, previous: null, checksum: '', ...made };
      await withContent(folder, manifest, (content) => refuseEqualIds(new Reader(content)));
    }
    const { report: before } = first.index;
    let report = before && afterChanges(before, { rowsAdded: rows - first.rows });
    if (evaluated !== undefined && segments.length > 0) {
      const { file, optimize, isPart } = evaluated;
      const core = new IndexCore(checkIndexOptions(optionsOf(index)));
      const wanted = checkWantedInFiles(core, optimize);
      const at = new FolderPlace(manifestsOnly ? folder : firstPart);
      const answers = await answersOf(evaluated, wanted.k, parts, at);
      if (isPart) await writeSynced(join(folder, file), answers.table());
      else report = await reportOfAnswers(answers, wanted, call);
    }
    call.signal?.throwIfAborted();
    return writer.commit({ ...made, index: { ...index, report } });
  });
}

/** What holds for the rows of all parts; the report is that of the first. */
function headerOf(manifests: readonly Manifest[]): IndexHeader {
  const [{ index: first }] = manifests;
  const zeros = new Zeros();
  for (const { index } of manifests) zeros.add(new Zeros(...(index.zeros ?? [])));
  return {
    ...first,
    isForeign: manifests.some(({ index }) => index.isForeign),
    ids: manifests.find(({ index }) => index.ids !== null)?.index.ids ?? null,
    nextRow: manifests[manifests.length - 1].index.nextRow,
    zeros: first.zeros && [zeros.count, zeros.squares],
  };
}

/** What all parts answer, by the tables in their folders; files of the first are at `place`. */
async function answersOf(
  { file, rows }: EvaluatedMerge,
  k: number,
  parts: readonly Part[],
  place: FolderPlace,
): Promise<EvaluatedParts> {
  const { space, parts: own } = await openRowless(place, parts[0].manifest);
  const count = parts.reduce((sum, { manifest }) => sum + manifest.rows, 0);
  const index = new EvaluatedParts(space as Space, count, own, rows, k);
  for (const { part } of parts) index.add(await readFile(join(part, file)), join(part, file));
  return index;
}

/**
 * Folders with their newest manifests, in the order of their rows. Those without rows are left out,
 * unless none has any.
 */
async function inOrder(given: readonly string[]): Promise<Part[]> {
  const all: Part[] = [];
  for (const part of given) all.push({ part, manifest: await neededManifest(part) });
  const withRows = all.filter(({ manifest }) => manifest.segments.length > 0);
  const found = withRows.length > 0 ? withRows : all.slice(0, 1);
  const firstRow = ({ manifest }: Part) => manifest.segments[0]?.firstRow ?? 0;
  return found.sort((a, b) => firstRow(a) - firstRow(b));
}

/**
 * Throws unless all folders have the same space and options, and the rows of each follow those of
 * the one before.
 */
function checkParts(parts: readonly Part[]): void {
  const of = ({ index, columns, text, files }: Manifest) => {
    const { nextRow: _, report: __, zeros: ___, isForeign: ____, ids: _____, ...options } = index;
    const space = files.space?.checksum ?? null;
    return JSON.stringify({
      ...options,
      space,
      columns: columns.map(({ name, type }) => [name, type]),
      text,
    });
  };
  let nextRow = 0;
  for (const { part, manifest } of parts) {
    if (of(manifest) !== of(parts[0].manifest)) {
      throw new Error(`${part} was not built like ${parts[0].part}: they cannot be merged`);
    }
    if (manifest.files.removed !== undefined) {
      throw new Error(`${part} has removed rows: compact it first`);
    }
    const [first] = manifest.segments;
    if (first !== undefined && first.firstRow < nextRow) {
      throw wrongValue('parts', `rows from ${nextRow} on in ${part}`, first.firstRow);
    }
    nextRow = manifest.index.nextRow;
  }
  const ids = parts.map(({ manifest }) => manifest.index.ids);
  const kinds = new Set(ids.filter((kind) => kind !== null));
  if (kinds.size > 1) throw new Error(`the ids are of kinds ${[...kinds].join(' and ')}`);
}
