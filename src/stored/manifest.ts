/**
 * The manifest of an index folder: JSON that describes one generation, with a checksum of all text
 * before its last lines. It states the size and checksum of each file, so these are known before a
 * file is opened. Specification: docs/format.md.
 */

import { checkInteger, checkOneOf, wrongType, wrongValue } from '../base/check';
import { asFormatError, FormatError } from '../base/format-error';
import type { IndexHeader } from '../index/write-index';
import { checksum, checksumText } from '../kernels/xxhash';
import type { ColumnInfo } from '../table/columns/types';

/** Version of the folders that are written, and the only one that is read. */
const FOLDER_VERSION = 3;
const FORMAT = 'index folder';

/** How texts became vectors, so that the text of a query can become one. */
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
  ...(['rows', 'vectors', 'blocks', 'hashes', 'buckets', 'copies', 'places', 'columns'] as const),
  ...(['centroids', 'removed', 'frequencies'] as const),
] as const;
export type FileKind = (typeof FILE_KINDS)[number];

/** A file of a generation. */
export interface FolderFile {
  readonly name: string;
  readonly kind: FileKind;
  /** Number of rows; in `blocks`, `places` and `buckets` files, number of blocks or buckets. */
  readonly rows: number;
  readonly bytes: number;
  /** See `fileChecksum`. */
  readonly checksum: string;
  /**
   * Only in files of rows: the row numbers are from `firstRow` to `nextRow - 1`, perhaps with gaps.
   */
  readonly firstRow?: number;
  readonly nextRow?: number;
}

/** One generation of an index. */
export interface Manifest {
  readonly generation: number;
  /** Checksum of the previous manifest; null in the first. */
  readonly previous: string | null;
  /** Rows in the index: rows in files minus removed rows. */
  readonly rows: number;
  readonly index: IndexHeader;
  readonly text: TextSettings | null;
  readonly columns: readonly ColumnInfo[];
  readonly files: readonly FolderFile[];
  /** Checksum of all text before its line. */
  readonly checksum: string;
}

/** Names of our own files. All other files in a folder are ignored. */
const NAME = new RegExp(`^(${FILE_KINDS.join('|')})-(\\d{6,})-(\\d+)-([0-9a-f]{12})\\.arrow$`);

/** The parts of a file's name. */
interface Named {
  readonly kind: FileKind;
  readonly generation: number;
  /** Position among the files of one save. */
  readonly part: number;
  /** Random, so that two writers of one generation never write the same file. */
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

/** Bytes that are hashed at once. The hash of a piece is the seed of the next. */
export const PIECE_BYTES = 2 ** 20;

/**
 * The checksum of a file: xxHash64 chained over pieces of 1 MiB, as 16 hexadecimal digits. An empty
 * file counts as one empty piece.
 */
export function fileChecksum(bytes: Uint8Array): string {
  const pieces = new FileChecksum();
  for (let at = 0; at === 0 || at < bytes.length; at += PIECE_BYTES) {
    pieces.add(bytes.subarray(at, at + PIECE_BYTES));
  }
  return pieces.text;
}

/**
 * The same checksum for a file that comes in pieces of PIECE_BYTES; only the last may be shorter.
 */
export class FileChecksum {
  #hash = 0n;

  add(piece: Uint8Array): void {
    this.#hash = checksum(piece, this.#hash);
  }

  get text(): string {
    return checksumText(this.#hash);
  }
}

/** Throws a FormatError unless a checksum is the one that the manifest states for a file. */
export function checkFileChecksum(found: string, { checksum: stated }: FolderFile, path: string) {
  if (found !== stated) throw new FormatError('damaged: it fails its checksum', path);
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

/** Parses and checks the manifest of a generation; a FormatError names the file. */
export function parseManifest(bytes: Uint8Array, path: string, generation: number): Manifest {
  return asFormatError(path, () => parsed(bytes, generation), 'cannot be read as a manifest');
}

function parsed(bytes: Uint8Array, generation: number): Manifest {
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

/**
 * Throws unless the row ranges of segments follow one another without overlap, and each segment has
 * the other files that the options require.
 */
function checkSegments(manifest: Manifest): void {
  const rows = filesOf(manifest, 'rows');
  let nextRow = 0;
  for (const file of rows) {
    checkInteger('firstRow', file.firstRow, nextRow, manifest.index.nextRow);
    nextRow = checkInteger('nextRow', file.nextRow, file.firstRow as number, 2 ** 32);
    checkInteger('rows', file.rows, 0, nextRow - (file.firstRow as number));
  }
  checkInteger('nextRow', manifest.index.nextRow, nextRow, 2 ** 32);
  const vectors = manifest.index.vectors === 'none' ? 0 : rows.length;
  const copies = manifest.index.copies === true ? rows.length : 0;
  for (const [kind, least, most] of [
    ['columns', 0, rows.length],
    ['vectors', vectors, vectors],
    ['blocks', rows.length, rows.length],
    ['hashes', rows.length, rows.length],
    ['buckets', rows.length, rows.length],
    ['copies', copies, copies],
    ['places', copies, copies],
  ] as const) {
    const files = filesOf(manifest, kind);
    checkInteger(`files of ${kind}`, files.length, least, most);
    if (files.length > 0) checkInteger(`files of ${kind}`, files.length, rows.length, rows.length);
    files.forEach((file, i) => {
      if (kind !== 'columns' && kind !== 'vectors') return;
      checkInteger(`rows of ${kind}`, file.rows, rows[i].rows, rows[i].rows);
    });
  }
  for (const kind of ['centroids', 'removed', 'frequencies'] as const) {
    checkInteger(`files of ${kind}`, filesOf(manifest, kind).length, 0, 1);
  }
  const total = rows.reduce((sum, file) => sum + file.rows, 0);
  const removed = filesOf(manifest, 'removed')[0]?.rows ?? 0;
  checkInteger('rows', manifest.rows, total - removed, total - removed);
}

/** The files of a kind, in the order of the manifest. */
export function filesOf({ files }: Pick<Manifest, 'files'>, kind: FileKind): FolderFile[] {
  return files.filter((file) => file.kind === kind);
}

/** A segment: a file of rows, and the files that belong to its rows. */
export interface Segment {
  readonly rows: FolderFile;
  readonly columns: FolderFile | null;
  /** Null if no vectors are held. */
  readonly vectors: FolderFile | null;
  /** Where its blocks are. */
  readonly blocks: FolderFile;
  /** Hashes of ids and codes, and the places of their buckets. */
  readonly hashes: FolderFile;
  readonly buckets: FolderFile;
  /** Its rows in second partitions, and where the blocks of these are; null without copies. */
  readonly copies: FolderFile | null;
  readonly places: FolderFile | null;
}

/** The segments, in order. The n-th file of each kind belongs to the n-th file of rows. */
export function segmentsOf(manifest: Manifest): Segment[] {
  const kinds = [
    ...(['columns', 'vectors', 'blocks', 'hashes', 'buckets', 'copies', 'places'] as const),
  ];
  const files = kinds.map((kind) => [kind, filesOf(manifest, kind)] as const);
  return filesOf(manifest, 'rows').map((rows, i) => ({
    rows,
    ...(Object.fromEntries(files.map(([kind, all]) => [kind, all[i] ?? null])) as Others),
  }));
}

type Others = Omit<Segment, 'rows'>;

/** The files of a segment, in the order in which manifests list them. */
export function filesOfSegment(segment: Segment): FolderFile[] {
  const { rows, vectors, blocks, hashes, buckets, copies, places, columns } = segment;
  const own = [rows, vectors, blocks, hashes, buckets, copies, places, columns];
  return own.filter((file) => file !== null);
}
