/**
 * Rows that wait in temporary files of a folder become its next generation: a sample of them trains
 * centroids as `optimize` does, each goes to its partition, and the partitions become segments.
 * What searches find is measured with the folder as it will be, before it is published.
 */

import { statfs } from 'node:fs/promises';
import { checkOptions, wrongType, wrongValue } from '../base/check';
import type { LongCall } from '../base/long-work';
import type { OptimizeOptions } from '../index/index-options';
import type { IndexParts } from '../index/index-parts';
import { MIN_CODES } from '../index/make-partitions';
import type { Wanted } from '../index/optimize';
import { checkWanted } from '../index/optimize-options';
import type { QueryParts } from '../index/query-parts';
import { headerOf, type IndexHeader } from '../index/write-index';
import type { FolderFile, Manifest } from '../stored/manifest';
import { centroidsToArrow } from '../table/sealed/small-tables';
import { measuredGaps } from './build-gaps';
import { Training, type TrainingRequest } from './build-training';
import { type BuildToMeasure, copiesPayIn, measuredBuild } from './build-tuning';
import { sharedCodes } from './compared-rows';
import type { Content, FolderChange } from './folder-change';
import type { GenerationWriter } from './generations';
import type { NewRows } from './new-rows';
import { type Centroids, NewSegments } from './new-segments';

/** This takes so many times the bytes of the files; rows that wait are the first of them. */
export const DISK_TIMES = 2.3;

const OPTIMIZED = ['recall', 'k', 'partitions', 'copies', 'seed', 'queries'];

interface WaitingRows {
  readonly rows: NewRows;
  /** Null where the rows stay in their order. */
  readonly wanted: Wanted | null;
  readonly memory: number;
  readonly call: LongCall;
  /** Centroids that are there, and their file; trained where they are missing. */
  readonly given?: GivenCentroids | null;
  /** Writes all files but the centroids. */
  write(segments: NewSegments, made: Made): Promise<Content>;
}

interface GivenCentroids {
  readonly centroids: Centroids;
  readonly file: FolderFile;
  /** The folder that they are from. */
  readonly like: string;
}

/** What the manifest says of the rows, and the file of the centroids where there are some. */
export interface Made {
  readonly index: IndexHeader;
  readonly centroids: readonly FolderFile[];
}

/** Writes the segments, measures what searches find in them, and publishes the folder. */
export async function publishRows(change: FolderChange, waiting: WaitingRows): Promise<Manifest> {
  const { rows, wanted, memory, call, given = null } = waiting;
  const { writer, folder } = change;
  const shared = await sharedCodes(rows, null, () => false);
  await rows.closeGroups();
  const request = wanted && { shared, wanted, memory, call };
  const centred = request && (await trainingOf(rows, request, given));
  const training = centred && request && (await withCopies(centred, { rows, ...request }));
  const centroids = training?.centroids ?? given?.centroids ?? null;
  if (centroids?.seconds) {
    // Copies wait once and are written once; what rows take was checked before.
    await checkDisk(folder, 2 * rows.count * copyBytesOf(rows.parts), 'with copies of its rows');
  }
  const segments = new NewSegments(writer, { rows, shared, centroids, memory: memory / 3 });
  const index = {
    ...headerOf(rows.parts, rows.nextRow),
    ...{ ids: rows.ids, isForeign: rows.isForeign, report: null },
    ...(centroids && { nearness: centroids.nearness }),
    ...(centroids?.seconds && { copies: true }),
    ...{ distinct: shared.distinct, shared: shared.firsts !== null },
  };
  const files = given === null ? [] : [given.file];
  if (given === null && training !== null) {
    files.push(await centroidsFile(writer, training.centroids));
  }
  const content = await waiting.write(segments, { index, centroids: files });
  await segments.close();
  if (training === null || wanted === null) {
    await rows.close();
    return change.publish(content);
  }
  const assigned = segments;
  const build = { folder, content, rows, shared, training, wanted, memory, call, assigned };
  const measured = await measuredContent(build);
  await rows.close();
  return change.publish(measured);
}

/** Files that are not published yet, with a setting of searches, and what these find. */
export async function measuredContent(build: BuildToMeasure): Promise<Content> {
  const { content } = build;
  const index = { ...content.index, gaps: await measuredGaps(build) };
  const report = await measuredBuild({ ...build, content: { ...content, index } });
  return { ...content, index: { ...index, report } };
}

/** The same with rows in second partitions too, where that is asked for or pays. */
async function withCopies(
  training: Training,
  { rows, shared, wanted, call }: TrainingRequest & { readonly rows: NewRows },
): Promise<Training> {
  const { trained, centroids, vectors } = training;
  if (trained === null || centroids.count < 2 || vectors.residualCodes === null) return training;
  const build = { training, rows, wanted, call };
  const pays = wanted.copies ?? (await copiesPayIn(build, shared.distinct));
  return pays ? training.withCopies(trained, call) : training;
}

/** Null where searches of so few codes are not measured. */
async function trainingOf(
  rows: NewRows,
  request: TrainingRequest,
  given: GivenCentroids | null,
): Promise<Training | null> {
  if (given === null) return Training.of(rows, request);
  if (request.shared.distinct < MIN_CODES) return null;
  return Training.by(given.centroids, rows, { ...request, like: given.like });
}

function centroidsFile(
  writer: GenerationWriter,
  { values, width, count }: Training['centroids'],
): Promise<FolderFile> {
  return writer.add('centroids', centroidsToArrow(values, width), count);
}

/** The options of `optimize`, as far as rows in files can be optimized by them. */
export function checkWantedInFiles(parts: IndexParts, options: OptimizeOptions): Wanted {
  const wanted = checkWanted(parts, checkOptions('optimize', options, OPTIMIZED));
  const kind = parts.vectors?.kind ?? 'none';
  if (parts.dense === null) {
    throw wrongValue('vectors', `'int8' or 'float32', which "optimize" in files needs`, kind);
  }
  if (wanted.given !== null) {
    throw wrongType('queries', 'a number: in files, rows are the queries', options.queries);
  }
  return wanted;
}

/** Bytes of a row in the files, about. */
export function rowBytesOf({ bits, hasher, vectors }: QueryParts): number {
  const { dimensions = 0 } = hasher;
  const perValue = vectors?.kind === 'float32' ? 4 : vectors?.kind === 'int8' ? 1 : 0;
  return Math.ceil(bits / 8) + dimensions * (perValue + 0.25) + 64;
}

/** Bytes of a row in its second partition, about. */
function copyBytesOf({ bits, hasher }: QueryParts): number {
  return Math.ceil(bits / 8) + (hasher.dimensions ?? 0) / 4 + 48;
}

/** Fails where the disk has no room for what is still to be written. */
export async function checkDisk(folder: string, bytes: number, what: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (bytes <= free) return;
  const MiB = (count: number) => `${Math.ceil(count / 2 ** 20)} MiB`;
  throw new Error(
    `${folder}: the disk has ${MiB(free)} free, ${what} this index takes about ${MiB(bytes)} ` +
      'more: the folder stays as it was',
  );
}
