/**
 * Folders that were built apart become one: their segments are linked into it, or copied, and one
 * manifest is written over them. They have the same options and centroids (`like` of a build), and
 * row numbers that follow one another (`firstRow`). Rows stay where they are; a setting of searches
 * is chosen for all of them, and measured, before the manifest is written. All or nothing, as every
 * generation.
 */

import { equalBytes } from '../base/arrays';
import { checkByteCount } from '../base/byte-count';
import { checkOptions, wrongType } from '../base/check';
import { asFormatError, FormatError } from '../base/format-error';
import { checkLongCall, LONG_CALL, type LongCall } from '../base/long-work';
import { afterChanges, type OptimizeOptions, type RecallReport } from '../index/index-options';
import { MIN_CODES } from '../index/make-partitions';
import type { Wanted } from '../index/optimize';
import { checkHeader, checkReport, emptyPartsOf, queryPartsOf } from '../index/saved-header';
import type { IndexHeader } from '../index/write-index';
import { BlockReader } from '../stored/block-reader';
import { contentNamed, type StoredContent } from '../stored/content';
import { LookUps } from '../stored/look-ups';
import { filesOf, filesOfSegment, type Manifest, segmentsOf } from '../stored/manifest';
import { bytesOfId } from '../table/sealed/look-up-tables';
import { Training } from './build-training';
import type { Content } from './folder-change';
import { FolderFiles } from './folder-files';
import { GenerationWriter, newestManifest, prepareNew } from './generations';
import { equalHashes, type HashedRow } from './hash-order';
import type { Centroids } from './new-segments';
import { RowsInSegments } from './passing-rows';
import { checkWantedInFiles, measuredContent } from './publish-rows';
import { centroidsFileOf, centroidsOf, othersOf, USUAL_MEMORY } from './stored-operations';
import { checkFile } from './verify-index';

export interface MergeOptions extends LongCall {
  /** True to put the index in place of one that is there. */
  replace?: boolean;
  /**
   * True where only the manifests are there: the new one names the same files, and nothing else is
   * read. The caller puts them next to it, and knows that no two parts share an id or a code. With
   * `optimize` the files are in the folder already: they are searched.
   */
  manifestsOnly?: boolean;
  /**
   * Chooses a setting for all rows, and measures it: by default as the parts were optimized, where
   * they were. Takes the centroids of the parts, and needs dense vectors.
   */
  optimize?: OptimizeOptions;
  /**
   * The folder that the parts are like: rows whose codes trained its centroids do not measure what
   * searches find. Without it they may, and the report has a warning.
   */
  like?: string;
  /** What memory may hold of the rows meanwhile: bytes, or a text as '2GB'; 512 MiB by default. */
  memory?: number | string;
}

/** How a merged folder is measured. */
interface Measuring {
  readonly wanted: Wanted;
  readonly like: string | null;
  readonly memory: number;
  readonly call: LongCall;
}

const MAY_BE_TRAINED =
  'evaluation rows may have taken part in training: name the folder that the parts are "like"';

/** A folder to merge. */
interface Part {
  readonly path: string;
  readonly manifest: Manifest;
  /** Its rows have numbers from `firstRow` to `endRow - 1`. */
  readonly firstRow: number;
  readonly endRow: number;
}

/** What merged folders have alike. */
const ALIKE = [
  ...(['bits', 'projection', 'seed', 'dimensions', 'texts', 'zero', 'vectors', 'mean'] as const),
  ...(['isForeign', 'ids', 'nearness', 'copies'] as const),
];

/** Merges folders; what is refused or fails leaves `folder` as it was. */
export async function mergeStored(
  folder: string,
  paths: readonly string[],
  options?: MergeOptions,
): Promise<Manifest> {
  const known = ['replace', 'manifestsOnly', 'optimize', 'like', 'memory', ...LONG_CALL];
  const { replace = false, like, ...given } = checkOptions('merge', options, known);
  const { manifestsOnly = false, optimize, memory: limit = USUAL_MEMORY, ...rest } = given;
  const call = checkLongCall(rest);
  const { signal, onProgress } = call;
  const memory = checkByteCount('memory', limit);
  if (typeof folder !== 'string') throw wrongType('folder', 'a path', folder);
  const parts = await partsIn(paths);
  const content = merged(parts);
  if (like !== undefined) await checkLike(parts[0], like);
  const wanted = wantedOf(parts, content, optimize ?? (manifestsOnly ? null : askedOf(parts)));
  const finished = (own: Content): Promise<Content> | Content =>
    wanted ? measured(folder, own, { wanted, like: like ?? null, memory, call }) : own;
  const writer = new GenerationWriter(folder, await prepareNew(folder, replace));
  try {
    if (manifestsOnly) return await writer.commit(await finished(content));
    const placeOf = new Map(
      parts.flatMap(({ path, manifest }) =>
        manifest.files.map(({ name }) => [name, path] as const),
      ),
    );
    const files = [];
    for (const [done, file] of content.files.entries()) {
      signal?.throwIfAborted();
      const taken = await writer.take(file, placeOf.get(file.name) as string);
      await checkFile(folder, taken);
      files.push(taken);
      onProgress?.(done + 1, content.files.length);
    }
    const own = { ...content, files };
    await checkApart(folder, own, parts);
    return await writer.commit(await finished(own));
  } catch (error) {
    throw await writer.abandon(error);
  }
}

/** The folders in the order of their rows; those without rows are left out, unless all are. */
async function partsIn(paths: readonly string[]): Promise<Part[]> {
  if (!Array.isArray(paths) || paths.length === 0) {
    throw wrongType('parts', 'an array of one folder or more', paths);
  }
  const parts: Part[] = [];
  for (const path of paths) {
    const manifest = await newestManifest(path);
    if (manifest === null) throw new FormatError('no index: it has no manifest', path);
    if (filesOf(manifest, 'removed').length > 0) {
      throw new Error(`${path} has removed rows: compact it, then merge it`);
    }
    const rows = filesOf(manifest, 'rows');
    const [firstRow, endRow] = [rows[0]?.firstRow ?? 0, rows.at(-1)?.nextRow ?? 0];
    parts.push({ path, manifest, firstRow, endRow });
  }
  const full = parts.filter(({ manifest }) => manifest.rows > 0);
  return full.length === 0 ? parts.slice(0, 1) : full.sort((a, b) => a.firstRow - b.firstRow);
}

/** What the manifest says of all parts, with the names of their files. */
function merged(parts: readonly Part[]): Content {
  const [first, ...others] = parts;
  const { text, columns } = first.manifest;
  for (const [i, other] of others.entries()) {
    checkAlike(first, other);
    const before = parts[i];
    if (other.firstRow >= before.endRow) continue;
    const ranges = [before, other].map(
      (one) => `${one.path} has ${one.firstRow}..${one.endRow - 1}`,
    );
    throw new Error(`rows overlap: ${ranges.join(', ')}; build them with other first rows`);
  }
  const rows = parts.reduce((sum, { manifest }) => sum + manifest.rows, 0);
  const index = others.length === 0 ? first.manifest.index : headerOf(parts, rows);
  const numbers = index.nextRow - first.firstRow;
  asFormatError(first.path, () => checkHeader({ ...index, nextRow: numbers }, rows));
  const segments = parts.flatMap(({ manifest }) => segmentsOf(manifest).flatMap(filesOfSegment));
  return { rows, index, text, columns, files: [...segments, ...othersOf(first.manifest)] };
}

/** Fails where two folders do not belong together, and says by what they differ. */
function checkAlike(one: Part, other: Part): void {
  const facts = ({ manifest }: Part): Record<string, unknown> => ({
    ...Object.fromEntries(ALIKE.map((name) => [name, manifest.index[name]])),
    ...{ text: manifest.text, columns: manifest.columns },
    'centroids and frequencies': othersOf(manifest).map(({ checksum }) => checksum),
  });
  const [own, theirs] = [facts(one), facts(other)];
  for (const name of Object.keys(own)) {
    const [a, b] = [JSON.stringify(own[name]), JSON.stringify(theirs[name])];
    if (a === b) continue;
    const shown = [a, b].map((text) => (text === undefined ? 'none' : text.slice(0, 60)));
    const how = `"${name}" is ${shown[0]} in ${one.path} and ${shown[1]} in ${other.path}`;
    throw new Error(`${how}: build both like one folder, then merge them`);
  }
}

/** Fails where the centroids of a part are not those of the folder that it is said to be like. */
async function checkLike({ path, manifest }: Part, like: string): Promise<void> {
  if (typeof like !== 'string') throw wrongType('like', 'a path', like);
  const model = await newestManifest(like);
  if (model === null) throw new FormatError('no index: it has no manifest', like);
  const checksums = [manifest, model].map((one) => centroidsFileOf(one)?.checksum);
  if (checksums[0] === checksums[1]) return;
  throw new Error(`the centroids of ${path} are not those of ${like}: name the folder it is like`);
}

const reportsIn = (headers: readonly IndexHeader[]): RecallReport[] =>
  headers.flatMap(({ report }) => (report === null ? [] : [checkReport(report)]));

/** What the parts were optimized for; of several the highest recall. Null where none was. */
function askedOf(parts: readonly Part[]): OptimizeOptions | null {
  const reports = reportsIn(parts.map(({ manifest }) => manifest.index));
  const { manifest } = parts[0];
  const { dense } = queryPartsOf(manifest.index);
  if (reports.length === 0 || dense === null || !centroidsFileOf(manifest)) return null;
  const { wanted, k, seed } = reports.reduce((a, b) => (b.wanted > a.wanted ? b : a));
  return { recall: wanted, k, seed };
}

/** What searches of all rows must find; null where they are not measured. */
function wantedOf(
  parts: readonly Part[],
  { index, files }: Content,
  asked: OptimizeOptions | null,
): Wanted | null {
  if (asked === null) return null;
  const { path } = parts[0];
  if (asked.partitions !== undefined) {
    throw wrongType('partitions', `nothing: those of ${path} are taken`, asked.partitions);
  }
  if (asked.copies !== undefined) {
    throw wrongType('copies', `nothing: rows stay where those of ${path} are`, asked.copies);
  }
  const wanted = checkWantedInFiles(emptyPartsOf(index), asked);
  if ((index.distinct ?? 0) < MIN_CODES) return null;
  if (centroidsFileOf({ files })) return wanted;
  throw new Error(`${path} has no centroids: build the parts like a folder that was optimized`);
}

/** The content with the setting that searches of all rows need, and what they find. */
function measured(
  folder: string,
  content: Content,
  { wanted, like, memory, call }: Measuring,
): Promise<Content> {
  const { gaps: _, ...header } = content.index;
  const unmeasured = { ...content, index: { ...header, report: null } };
  return opened(folder, unmeasured, async (stored) => {
    const rows = await RowsInSegments.of(stored, call);
    const { shared } = rows;
    const by = { shared, wanted, memory, call, like };
    const training = await Training.by(centroidsOf(stored) as Centroids, rows, by);
    const build = { ...{ folder, content: unmeasured, rows, training, assigned: rows }, ...by };
    const { index, ...others } = await measuredContent(build);
    const report = index.report as RecallReport;
    const warnings = like === null ? [...report.warnings, MAY_BE_TRAINED] : report.warnings;
    return { ...others, index: { ...index, report: { ...report, warnings } } };
  });
}

/** Reads files that no manifest names yet. */
async function opened<T>(
  folder: string,
  content: Content,
  work: (stored: StoredContent) => Promise<T>,
): Promise<T> {
  const format = { generation: 1, previous: null, checksum: '' };
  const files = new FolderFiles(folder);
  try {
    return await work(await contentNamed(files, { ...content, ...format }, { path: folder }));
  } finally {
    await files.close();
  }
}

/** The header of several parts: without `gaps`, which were measured of each, none ends early. */
function headerOf(parts: readonly Part[], rows: number): IndexHeader {
  const headers = parts.map(({ manifest }) => manifest.index);
  const sum = (of: (header: IndexHeader) => number) => {
    return headers.reduce((total, header) => total + of(header), 0);
  };
  const { gaps: _, ...header } = headers[0];
  return {
    ...header,
    nextRow: Math.max(...headers.map(({ nextRow }) => nextRow)),
    distinct: sum(({ distinct = 0 }) => distinct),
    shared: headers.some(({ shared }) => shared === true),
    report: settingOf(headers, rows),
    ...(header.zeros && {
      zeros: [
        sum(({ zeros = [0, 0] }) => zeros[0]),
        sum(({ zeros = [0, 0] }) => zeros[1]),
      ] as const,
    }),
  };
}

/**
 * The setting that finds at least what the parts find by theirs: the most partitions, and as many
 * candidates as all together. The report is that of the part that finds least, and stale: it
 * was measured of that part.
 */
function settingOf(headers: readonly IndexHeader[], rows: number): RecallReport | null {
  const reports = reportsIn(headers);
  if (reports.length === 0) return null;
  const least = reports.reduce((a, b) => (b.recall < a.recall ? b : a));
  const probes = Math.max(...reports.map((report) => report.probes));
  const oversample = reports.reduce((sum, report) => sum + report.oversample, 0);
  const added = Math.max(0, rows - least.rows - least.rowsAdded);
  return afterChanges({ ...least, probes, oversample }, { rowsAdded: added });
}

/** Fails where an id, or a code, is in two of the parts. */
function checkApart(folder: string, content: Content, parts: readonly Part[]): Promise<void> {
  return opened(folder, content, async (stored) => {
    const reader = new BlockReader(stored);
    const lookUps = new LookUps(stored, reader);
    const width = Math.ceil(stored.header.bits / 8);
    const partOf = ({ row }: HashedRow) => parts.find(({ endRow }) => row < endRow) as Part;
    for (const of of ['ids', 'codes'] as const) {
      if (of === 'ids' && stored.header.ids === 'row') continue;
      for await (const group of equalHashes(stored, lookUps, { of, passed: () => undefined })) {
        // Of each part the first row with a hash.
        const heads = group.filter((one, i) => i === 0 || partOf(group[i - 1]) !== partOf(one));
        if (heads.length === 1) continue;
        const blocks = await reader.blocks(heads.map(({ name }) => name));
        const bytes = blocks.map(({ rows }, i) => {
          const place = rows.rows.indexOf(heads[i].row);
          if (of === 'ids') return bytesOfId(rows.ids?.at(place) ?? 0);
          return rows.codes.subarray(place * width, (place + 1) * width);
        });
        const firstOf = (own: Uint8Array) => bytes.findIndex((one) => equalBytes(one, own));
        const second = bytes.findIndex((one, i) => firstOf(one) < i);
        if (second < 0) continue; // other bytes with this hash
        const both = [heads[firstOf(bytes[second])], heads[second]];
        const [a, b] = both.map((one) => `row ${one.row} of ${partOf(one).path}`);
        const rule = of === 'ids' ? 'id' : 'code: rows of one code must be in one of the folders';
        throw new Error(`${a} and ${b} have the same ${rule}`);
      }
    }
  });
}
