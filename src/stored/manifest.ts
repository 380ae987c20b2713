/**
 * The manifest of an index folder: what one generation of it is, as JSON whose last line is a
 * checksum of all before. Whoever holds a manifest knows each file's size and checksum before
 * opening it. docs/format.md is the specification.
 */

import { checkInteger, checkOneOf, wrongType, wrongValue } from '../base/check';
import { asFormatError } from '../base/format-error';
import type { IndexHeader } from '../index/write-index';
import { checksum } from '../kernels/kernels';
import type { ColumnInfo } from '../table/columns/info';

/** Version of the folders that are written; version 1 is read as well. */
export const FOLDER_VERSION = 2;
const KNOWN_VERSIONS = [1, 2];
const FORMAT = 'index folder';

/** How texts became vectors, so that a query's text can. */
export interface TextSettings {
  /** 'words', 'characters:4', 'shingles:3', 'segments:ja', 'jieba'. */
  tokens: string;
  /** 'html', 'numbers', 'punctuation', or several with commas. */
  normalize?: string;
  /** 'keep' where capital letters stay. */
  case?: string;
  stopWords?: string;
  counting?: string;
  keywords?: number;
  hash?: string;
}

const FILE_KINDS = [
  ...(['rows', 'vectors', 'blocks', 'hashes', 'buckets', 'columns'] as const),
  ...(['centres', 'removed', 'frequencies'] as const),
] as const;
export type FileKind = (typeof FILE_KINDS)[number];

export interface FolderFile {
  readonly name: string;
  readonly kind: FileKind;
  readonly rows: number;
  readonly bytes: number;
  readonly checksum: string;
  /** Of a file of rows: it has those with numbers from `firstRow` to `nextRow - 1`. */
  readonly firstRow?: number;
  readonly nextRow?: number;
}

export interface Manifest {
  /** Of the folder's format: 1 or 2. */
  readonly version: number;
  readonly generation: number;
  /** Checksum of the manifest before; null of the first. */
  readonly previous: string | null;
  /** Rows that are there. */
  readonly rows: number;
  readonly index: IndexHeader;
  readonly text: TextSettings | null;
  readonly columns: readonly ColumnInfo[];
  readonly files: readonly FolderFile[];
  /** Of all else, as in the last line. */
  readonly checksum: string;
}

/** Names of our own files; whatever else is in a folder is left alone. */
const NAME = new RegExp(`^(${FILE_KINDS.join('|')})-(\\d{6,})-(\\d+)-([0-9a-f]{12})\\.arrow$`);

interface Named {
  readonly kind: FileKind;
  readonly generation: number;
  readonly part: number;
  /** Of the writer: two writers of one generation must not meet. */
  readonly token: string;
}

export function fileName({ kind, generation, part, token }: Named): string {
  return `${kind}-${String(generation).padStart(6, '0')}-${part}-${token}.arrow`;
}

export function temporaryName({ generation, part, token }: Omit<Named, 'kind'>): string {
  return `manifest-${String(generation).padStart(6, '0')}-${part}-${token}.tmp`;
}

export function manifestName(generation: number): string {
  return `manifest-${String(generation).padStart(6, '0')}.json`;
}

/** The generation that a file of ours was written for; null of other files. */
export function generationOf(name: string): number | null {
  const found = NAME.exec(name)?.[2] ?? /^manifest-(\d{6,})-\d+-[0-9a-f]{12}\.tmp$/.exec(name)?.[1];
  return found === undefined ? manifestGeneration(name) : Number(found);
}

/** The generation of a manifest by its name, else null. */
export function manifestGeneration(name: string): number | null {
  const found = /^manifest-(\d{6,})\.json$/.exec(name)?.[1];
  return found === undefined ? null : Number(found);
}

/** Bytes of a file that are hashed together. */
export const PIECE_BYTES = 2 ** 20;

/** xxHash64, chained over pieces of 1 MiB: the hash before is the seed. 16 hexadecimal digits. */
export function fileChecksum(bytes: Uint8Array): string {
  const pieces = new FileChecksum();
  for (let at = 0; at === 0 || at < bytes.length; at += PIECE_BYTES) {
    pieces.add(bytes.subarray(at, at + PIECE_BYTES));
  }
  return pieces.text;
}

/** The same of a file that comes piece by piece, each but the last of PIECE_BYTES. */
export class FileChecksum {
  #hash = 0n;

  add(piece: Uint8Array): void {
    this.#hash = checksum(piece, this.#hash);
  }

  get text(): string {
    return this.#hash.toString(16).padStart(16, '0');
  }
}

export function manifestText(manifest: Omit<Manifest, 'version' | 'checksum'>): string {
  const { generation, ...rest } = manifest;
  const body = { format: FORMAT, version: FOLDER_VERSION, generation, ...rest };
  const head = `${JSON.stringify(body, null, 1).slice(0, -2)},\n`;
  return `${head}${lastLine(head)}`;
}

function lastLine(head: string): string {
  return ` "checksum": "${fileChecksum(new TextEncoder().encode(head))}"\n}\n`;
}

/** The manifest of a generation, checked; a FormatError names the file. */
export function parseManifest(bytes: Uint8Array, path: string, generation: number): Manifest {
  return asFormatError(path, () => parsed(bytes, generation), 'cannot be read as a manifest');
}

function parsed(bytes: Uint8Array, generation: number): Manifest {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  const json = JSON.parse(text) as Manifest & { format: unknown };
  if (json?.format !== FORMAT) throw new Error(`"format" is not "${FORMAT}"`);
  if (!KNOWN_VERSIONS.includes(json.version)) {
    const known = `this release reads ${KNOWN_VERSIONS.join(' and ')}`;
    throw new Error(`format version ${json.version} is not known, ${known}`);
  }
  const end = text.lastIndexOf(' "checksum"');
  if (text.slice(end) !== lastLine(text.slice(0, end))) {
    throw new Error('damaged: it fails its checksum');
  }
  checkInteger('generation', json.generation, generation, generation);
  checkInteger('rows', json.rows, 0, 2 ** 32);
  if (typeof json.index !== 'object' || json.index === null) {
    throw wrongType('index', 'an object', json.index);
  }
  if (!Array.isArray(json.files)) throw wrongType('files', 'an array', json.files);
  if (!Array.isArray(json.columns)) throw wrongType('columns', 'an array', json.columns);
  json.files.forEach(checkFile);
  json.columns.forEach(checkColumn);
  checkSegments(json);
  return json;
}

function checkColumn(column: Partial<ColumnInfo> | null): void {
  const { name, type, fits } = column ?? {};
  if (typeof name === 'string' && typeof type === 'string' && Array.isArray(fits)) return;
  throw wrongType('columns', 'names, types and uses', column);
}

function checkFile(file: FolderFile): void {
  checkOneOf('kind', file.kind, FILE_KINDS);
  if (typeof file.name !== 'string' || NAME.exec(file.name)?.[1] !== file.kind) {
    throw wrongValue('name', 'one of ours', file.name);
  }
  checkInteger('rows', file.rows, 0, 2 ** 32);
  checkInteger('bytes', file.bytes, 0, Number.MAX_SAFE_INTEGER);
  if (!/^[0-9a-f]{16}$/.test(file.checksum)) {
    throw wrongValue('checksum', '16 hexadecimal digits', file.checksum);
  }
}

/** Files of rows follow each other, and each has what belongs to it, or none has. */
function checkSegments(manifest: Manifest): void {
  const rows = filesOf(manifest, 'rows');
  let nextRow = 0;
  for (const file of rows) {
    checkInteger('firstRow', file.firstRow, nextRow, manifest.index.nextRow);
    nextRow = checkInteger('nextRow', file.nextRow, file.firstRow as number, 2 ** 32);
    checkInteger('rows', file.rows, 0, nextRow - (file.firstRow as number));
  }
  checkInteger('nextRow', manifest.index.nextRow, nextRow, 2 ** 32);
  const hasVectors = manifest.version > 1 && manifest.index.keep !== 'none';
  const isOfSegments = manifest.version > 1;
  const hashes = filesOf(manifest, 'hashes').length;
  for (const [kind, least, most] of [
    ['columns', 0, rows.length],
    ['vectors', hasVectors ? rows.length : 0, hasVectors ? rows.length : 0],
    ['blocks', isOfSegments ? rows.length : 0, isOfSegments ? rows.length : 0],
    ['hashes', 0, isOfSegments ? rows.length : 0],
    ['buckets', hashes, hashes],
  ] as const) {
    const files = filesOf(manifest, kind);
    checkInteger(`files of ${kind}`, files.length, least, most);
    if (files.length > 0) checkInteger(`files of ${kind}`, files.length, rows.length, rows.length);
    files.forEach((file, i) => {
      if (kind !== 'columns' && kind !== 'vectors') return;
      checkInteger(`rows of ${kind}`, file.rows, rows[i].rows, rows[i].rows);
    });
  }
  for (const kind of ['centres', 'removed', 'frequencies'] as const) {
    checkInteger(`files of ${kind}`, filesOf(manifest, kind).length, 0, 1);
  }
  const total = rows.reduce((sum, file) => sum + file.rows, 0);
  const removed = filesOf(manifest, 'removed')[0]?.rows ?? 0;
  checkInteger('rows', manifest.rows, total - removed, total - removed);
}

export function filesOf({ files }: Pick<Manifest, 'files'>, kind: FileKind): FolderFile[] {
  return files.filter((file) => file.kind === kind);
}

/** A file of rows, and what belongs to its rows. */
export interface Segment {
  readonly rows: FolderFile;
  readonly columns: FolderFile | null;
  /** Where no vectors are held, and in version 1, null. */
  readonly vectors: FolderFile | null;
  /** Null in version 1. */
  readonly blocks: FolderFile | null;
  /** Rows by the hashes of their ids and codes, and where the buckets of that file are. */
  readonly hashes: FolderFile | null;
  readonly buckets: FolderFile | null;
}

export function segmentsOf(manifest: Manifest): Segment[] {
  const kinds = ['columns', 'vectors', 'blocks', 'hashes', 'buckets'] as const;
  const files = kinds.map((kind) => [kind, filesOf(manifest, kind)] as const);
  return filesOf(manifest, 'rows').map((rows, i) => ({
    rows,
    ...(Object.fromEntries(files.map(([kind, all]) => [kind, all[i] ?? null])) as Others),
  }));
}

type Others = Omit<Segment, 'rows'>;

/** The files of a segment, in the order in which manifests list them. */
export function filesOfSegment(segment: Segment): FolderFile[] {
  const { rows, vectors, blocks, hashes, buckets, columns } = segment;
  return [rows, vectors, blocks, hashes, buckets, columns].filter((file) => file !== null);
}
