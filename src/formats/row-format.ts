/** The formats of rows: by name, by extension, and by the first bytes of a file. */

import { extname } from 'node:path';
import { FormatError } from '../base/format-error';
import type { RowBatch } from '../table/row-batch';
import { bareName } from './compressed';

/** All formats by name. */
export const ROW_FORMATS = [
  'arrow',
  'arrows',
  'parquet',
  'csv',
  'jsonl',
  'npy',
  'text',
  'json',
] as const;

/** 'arrow' is the file, 'arrows' the stream. */
export type RowFormat = (typeof ROW_FORMATS)[number];

/** Formats that are written only: 'json' is one array. */
const WRITTEN_ONLY = ['json'] as const;
export type ReadFormat = Exclude<RowFormat, (typeof WRITTEN_ONLY)[number]>;
export const isRead = (format: RowFormat): format is ReadFormat =>
  !(WRITTEN_ONLY as readonly string[]).includes(format);

/** The file extensions of each format. */
const EXTENSIONS: Record<RowFormat, readonly string[]> = {
  arrow: ['.arrow', '.feather', '.ipc'],
  arrows: ['.arrows'],
  parquet: ['.parquet', '.pq'],
  csv: ['.csv', '.tsv', '.tab'],
  jsonl: ['.jsonl', '.ndjson'],
  npy: ['.npy'],
  text: ['.txt', '.md'],
  json: ['.json'],
};

/** Formats of lines: one may end after any of them, and each can be copied byte for byte. */
export const OF_LINES: readonly (RowFormat | null)[] = ['csv', 'jsonl', 'text'];

/** The first bytes of formats that have a magic number, as text with a character for each byte. */
const MAGICS: readonly (readonly [string, RowFormat])[] = [
  ['ARROW1', 'arrow'],
  ['\xff\xff\xff\xff', 'arrows'],
  ['PAR1', 'parquet'],
  ['\x93NUMPY', 'npy'],
];

/** How many first bytes are compared with magic numbers, or searched for the start of JSON. */
export const MAGIC_BYTES = 64;

/** The format by the extension, or null for an unknown one. */
export function formatOfPath(path: string): RowFormat | null {
  const extension = extname(bareName(path)).toLowerCase();
  return ROW_FORMATS.find((format) => EXTENSIONS[format].includes(extension)) ?? null;
}

/** Whether a name is one of tab-separated values. */
export const isTabbed = (path: string) => /\.(tsv|tab)$/i.test(bareName(path));

/** The format that the first bytes show, else that of the name; JSON lines begin with a brace. */
export function detectFormat(name: string, head: Uint8Array): RowFormat {
  const text = Buffer.from(head.buffer, head.byteOffset, head.length).toString('latin1');
  const magic = MAGICS.find(([start]) => text.startsWith(start))?.[1];
  if (magic !== undefined) return magic;
  const named = formatOfPath(name);
  if (named !== null) return named;
  if (/^(\xef\xbb\xbf)?\s*\{/.test(text)) return 'jsonl';
  if (head.length === 0) throw new FormatError('empty, and its name has no known extension', name);
  throw new FormatError(
    'its format is not known by its name or first bytes; say which with format (--from)',
    name,
  );
}

/** Encodes batches as the bytes of one format. */
export interface RowEncoder {
  encode(batch: RowBatch): Uint8Array[] | Promise<Uint8Array[]>;
  /** The bytes that end the output. */
  finish(): Uint8Array[] | Promise<Uint8Array[]>;
}
