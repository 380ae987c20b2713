/**
 * The manifest of an index folder: JSON that describes one generation, with a checksum of all text
 * before its last lines. It states the size and checksum of each file, so these are known before a
 * file is opened. Specification: docs/format.md.
 */

import {
  asFormatError,
  checkBoolean,
  checkInteger,
  checkNumber,
  checkOneOf,
  checkText,
  FormatError,
  wrongType,
  wrongValue,
} from '../base/check';
import { newSecret } from '../base/hash-tables';
import type { IdKind } from '../index/ids';
import type { IndexCore } from '../index/index-core';
import {
  checkIndexOptions,
  checkReport,
  type RecallReport,
  type SimHashIndexOptions,
} from '../index/index-options';
import { QueryParts } from '../index/query';
import { Zeros } from '../index/vectors/rounding';
import { VECTOR_STORAGES } from '../index/vectors/row-vectors';
import type { ColumnInfo } from '../table/columns/types';
import { fileChecksum } from '../table/sealed/seal';
import type { TextModel } from '../vectors/vectors';

/** Version of the folders that are written, and the only one that is read. */
const FOLDER_VERSION = 12;
const FORMAT = 'index folder';

/** How texts became vectors, so that the text of a query can become one. */
export interface TextSettings {
  /** 'words', 'characters:4', 'shingles:3'. */
  tokens: string;
  counting?: string;
}

/** Files that belong to a segment, and files of the whole index. */
const SEGMENT_KINDS = ['rows', 'vectors', 'codes', 'blocks', 'hashes', 'columns'] as const;
const INDEX_KINDS = ['space', 'removed', 'frequencies'] as const;
export type FileKind = (typeof SEGMENT_KINDS)[number] | (typeof INDEX_KINDS)[number];
type SegmentKind = (typeof SEGMENT_KINDS)[number];
type IndexKind = (typeof INDEX_KINDS)[number];

/** A file of a generation. */
export interface FolderFile {
  readonly name: string;
  readonly kind: FileKind;
  readonly bytes: number;
  /** See `fileChecksum`. */
  readonly checksum: string;
}

/** A segment: rows `firstRow` to `endRow - 1`, perhaps with gaps, and its files by kind. */
export interface SegmentFiles {
  readonly firstRow: number;
  readonly endRow: number;
  /** How many rows its files have, removed ones included. */
  readonly count: number;
  readonly files: { readonly [kind in SegmentKind]?: FolderFile };
}

/** One generation of an index. */
export interface Manifest {
  readonly generation: number;
  /** Checksum of the previous manifest; null in the first. */
  readonly previous: string | null;
  /** Rows in the index: rows in files minus removed rows. */
  readonly rows: number;
  readonly index: IndexHeader;
  readonly text: TextSettings | TextModel | null;
  readonly columns: readonly ColumnInfo[];
  /** Their rows follow one another and do not overlap. */
  readonly segments: readonly SegmentFiles[];
  readonly files: { readonly [kind in IndexKind]?: FolderFile };
  /** Checksum of all text before its line. */
  readonly checksum: string;
}

/** What a generation has, but for its number and what follows from its text. */
export type NewContent = Omit<Manifest, 'generation' | 'previous' | 'checksum'>;

/** Names of our own files. All other files in a folder are ignored. */
const NAME = new RegExp(
  `^(${[...SEGMENT_KINDS, ...INDEX_KINDS].join('|')})-(\\d{6,})-(\\d+)-([0-9a-f]{12})\\.arrow$`,
);

/** Names for the files of one save; random, so that two writers never write the same file. */
export class FileNames {
  readonly #token = Array.from(newSecret(), (word) => word.toString(16).padStart(8, '0'))
    .join('')
    .slice(0, 12);
  /** The names given so far, which a writer that fails deletes. */
  readonly given: string[] = [];

  constructor(readonly generation: number) {}

  /** A new name for a file; one of a manifest is temporary. */
  next(kind: FileKind | 'manifest'): string {
    const part = `${String(this.generation).padStart(6, '0')}-${this.given.length}`;
    const name = `${kind}-${part}-${this.#token}.${kind === 'manifest' ? 'tmp' : 'arrow'}`;
    this.given.push(name);
    return name;
  }
}

export function manifestName(generation: number): string {
  return `manifest-${String(generation).padStart(6, '0')}.json`;
}

/** The generation that one of our files was written for; null for other names. */
export function generationOf(name: string): number | null {
  const found = NAME.exec(name)?.[2] ?? /^manifest-(\d{6,})-\d+-[0-9a-f]{12}\.tmp$/.exec(name)?.[1];
  return found === undefined ? manifestGeneration(name) : Number(found);
}

/** The generation of a manifest, from its name; null for other names. */
export function manifestGeneration(name: string): number | null {
  const found = /^manifest-(\d{6,})\.json$/.exec(name)?.[1];
  return found === undefined ? null : Number(found);
}

/** Throws a FormatError unless a checksum is the one that the manifest states for a file. */
export function checkFileChecksum(found: string, { checksum: stated }: FolderFile, path: string) {
  if (found !== stated) throw new FormatError('damaged: it fails its checksum', path);
}

/** All files of a generation. */
export function filesOf({ segments, files }: Pick<Manifest, 'segments' | 'files'>): FolderFile[] {
  const all = [...segments.flatMap((one) => Object.values(one.files)), ...Object.values(files)];
  return all.filter((file) => file !== undefined);
}

/**
 * A manifest, and its bytes. Parsed as readers do it, so that one that they would refuse is never
 * written.
 */
export function newManifest(content: Omit<Manifest, 'checksum'>) {
  const { generation } = content;
  const bytes = new TextEncoder().encode(manifestText(content));
  return { bytes, manifest: parseManifest(bytes, manifestName(generation), generation) };
}

/** The names of all files of a generation, its manifest included. */
export function namesOf(manifest: Manifest): string[] {
  return [manifestName(manifest.generation), ...filesOf(manifest).map(({ name }) => name)];
}

/** The text of a manifest, with its checksum. */
export function manifestText(manifest: Omit<Manifest, 'checksum'>): string {
  const { generation, ...rest } = manifest;
  const body = { format: FORMAT, version: FOLDER_VERSION, generation, ...rest };
  const head = `${JSON.stringify(body, null, 1).slice(0, -2)},\n`;
  return `${head}${lastLine(head)}`;
}

/** The line with the checksum, and the end of the JSON. */
function lastLine(head: string): string {
  return ` "checksum": "${fileChecksum(new TextEncoder().encode(head))}"\n}\n`;
}

/**
 * Parses and checks the manifest of a generation, of any where the name of its file says none; a
 * FormatError names the file.
 */
export function parseManifest(bytes: Uint8Array, path: string, generation?: number): Manifest {
  return asFormatError(path, () => parsed(bytes, generation), 'cannot be read as a manifest');
}

function parsed(bytes: Uint8Array, generation: number | undefined): Manifest {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  const json = JSON.parse(text) as Manifest & { format: unknown; version: unknown };
  if (json?.format !== FORMAT) throw new Error(`"format" is not "${FORMAT}"`);
  if (json.version !== FOLDER_VERSION) {
    const known = `this release reads version ${FOLDER_VERSION} only: build the index again`;
    throw new Error(`it is of format version ${json.version}, ${known}`);
  }
  // Recomputes the last line from all text before it and compares.
  const end = text.lastIndexOf(' "checksum"');
  if (text.slice(end) !== lastLine(text.slice(0, end))) {
    throw new Error('damaged: it fails its checksum');
  }
  const { MAX_SAFE_INTEGER } = Number;
  checkInteger('generation', json.generation, generation ?? 1, generation ?? MAX_SAFE_INTEGER);
  checkInteger('rows', json.rows, 0, 2 ** 32);
  checkObject('index', json.index);
  const { report } = queryPartsOf(json.index);
  if (!Array.isArray(json.columns)) throw wrongType('columns', 'an array', json.columns);
  json.columns.forEach(checkColumn);
  if (!Array.isArray(json.segments)) throw wrongType('segments', 'an array', json.segments);
  checkFiles(json.files, INDEX_KINDS);
  checkSegments(json);
  return { ...json, index: { ...json.index, report } };
}

function checkObject(name: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) throw wrongType(name, 'an object', value);
}

function checkColumn(column: Partial<ColumnInfo> | null): void {
  const { name, type, fits } = column ?? {};
  if (typeof name === 'string' && typeof type === 'string' && Array.isArray(fits)) return;
  throw wrongType('columns', 'names, types and uses', column);
}

function checkFiles(
  files: { readonly [kind in FileKind]?: FolderFile },
  kinds: readonly FileKind[],
): void {
  checkObject('files', files);
  for (const [kind, file] of Object.entries(files)) {
    checkOneOf('kind', kind as FileKind, kinds);
    if (NAME.exec(checkText('name', file.name))?.[1] !== kind || file.kind !== kind) {
      throw wrongValue('name', 'one of ours', file.name);
    }
    checkInteger('bytes', file.bytes, 0, Number.MAX_SAFE_INTEGER);
    if (!/^[0-9a-f]{16}$/.test(checkText('checksum', file.checksum))) {
      throw wrongValue('checksum', '16 hexadecimal digits', file.checksum);
    }
  }
}

/** Throws unless rows of segments follow one another, and each has the files that it must have. */
function checkSegments({ segments, index, rows, files, columns }: Manifest): void {
  let [nextRow, total] = [0, 0];
  for (const segment of segments) {
    checkObject('segments', segment);
    checkInteger('firstRow', segment.firstRow, nextRow, index.nextRow);
    nextRow = checkInteger('endRow', segment.endRow, segment.firstRow, index.nextRow);
    checkFiles(segment.files, SEGMENT_KINDS);
    const { files: own } = segment;
    const must = (kind: SegmentKind, isThere: boolean) => {
      if ((own[kind] !== undefined) !== isThere) {
        throw wrongValue(`files of ${kind}`, isThere ? 'one' : 'none', own[kind]?.name);
      }
    };
    must('rows', true);
    must('blocks', true);
    must('vectors', index.vectors !== 'none');
    must('columns', columns.length > 0);
    total += checkInteger('count', segment.count, 0, segment.endRow - segment.firstRow);
  }
  checkInteger('rows', rows, files.removed === undefined ? total : 0, total);
}

/** The options of an index and what holds for all of its rows, as JSON. */
export interface IndexHeader {
  readonly bits: number;
  readonly projection: string;
  readonly seed: string;
  readonly dimensions?: number;
  readonly texts?: string;
  readonly zero: string;
  readonly vectors: string;
  /** True if codes were added that other options made. */
  readonly isForeign: boolean;
  readonly ids: IdKind | null;
  /** The row that would be added next. */
  readonly nextRow: number;
  readonly report: RecallReport | null;
  /** True where rows are in second partitions too. */
  readonly copies: boolean;
  /** Values of int8 vectors that became 0, and the sum of squares that they lost, in steps. */
  readonly zeros: readonly [count: number, squares: number] | null;
}

export function headerOf(core: IndexCore): IndexHeader {
  const { bits, hasher, isForeign, report, dense, idKind, rows } = core;
  return {
    bits,
    projection: hasher.projection,
    seed: String(hasher.seed),
    ...(hasher.dimensions !== undefined && { dimensions: hasher.dimensions }),
    ...(hasher.options.texts !== undefined && { texts: hasher.options.texts }),
    zero: hasher.zero,
    vectors: core.vectors?.kind ?? 'none',
    isForeign,
    report,
    zeros: dense?.kind === 'int8' ? [dense.zeros.count, dense.zeros.squares] : null,
    ids: idKind,
    nextRow: rows.nextRow,
    copies: rows.space?.parts.hasCopies ?? false,
  };
}

/** The options with which a saved index was made. */
export function optionsOf(header: IndexHeader): SimHashIndexOptions {
  const { bits, projection, seed, dimensions, texts, zero, vectors } = header;
  if (typeof seed !== 'string' || !/^\d{1,20}$/.test(seed)) {
    throw wrongValue('seed', 'an integer as a string', seed);
  }
  return {
    bits,
    projection: projection as 'signs',
    seed: BigInt(seed),
    ...(dimensions !== undefined && { dimensions }),
    ...(texts !== undefined && { texts }),
    zero: zero as 'error',
    vectors: checkOneOf('vectors', vectors as 'none', VECTOR_STORAGES),
  };
}

/** What makes the queries of an index with this header, which is checked; it holds no rows. */
export function queryPartsOf(header: IndexHeader): QueryParts {
  const { isForeign, nextRow, ids, report, copies, zeros } = header;
  checkBoolean('isForeign', isForeign);
  checkBoolean('copies', copies);
  checkInteger('nextRow', nextRow, 0, 2 ** 32 - 1);
  checkOneOf('ids', ids ?? 'none', ['none', 'row', 'number', 'bigint', 'string']);
  if (zeros !== null && !Array.isArray(zeros)) throw wrongType('zeros', 'two numbers', zeros);
  for (const value of zeros ?? []) checkNumber('zeros', value, 0, Number.MAX_SAFE_INTEGER);
  const parts = new QueryParts(checkIndexOptions(optionsOf(header)));
  parts.isForeign = isForeign;
  parts.report = report && checkReport(report);
  parts.dense?.zeros.add(new Zeros(...(zeros ?? [])));
  return parts;
}
