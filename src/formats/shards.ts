/**
 * Rows in several files, as if they were one: a folder of shards, a pattern such as
 * `data/*.jsonl.gz`, or a list of these. Shards are read in the order of their names, those of a
 * list in its order. They may be in any formats, and all have the same columns, of which a caller
 * may read some; they come in the order of the first shard. A folder with none of these formats has
 * texts.
 */

import { readdir, realpath, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { FormatError } from '../base/check';
import { RowBatch } from '../table/row-batch';
import { ByteSource } from './byte-source';
import { type FormatRows, formatOfPath, RowReader } from './row-reader';
import { isAddress } from './web-source';

/**
 * The files of a folder of shards, a pattern or a list; null for one file or a folder of texts.
 * Files without a byte, packed or not, as jobs leave them where a part has no rows, are left out.
 */
export async function shardsOf(source: string | readonly string[]): Promise<string[] | null> {
  const files = typeof source === 'string' ? await shardsAt(source) : await listed(source);
  if (files === null) return null;
  const found = await Promise.all(files.map((file) => (isAddress(file) ? null : stat(file))));
  const others: string[] = [];
  for (const [i, file] of files.entries()) {
    // A pipe may have bytes, although its size is 0.
    const size = found[i]?.isFile() ? found[i].size : Number.POSITIVE_INFINITY;
    // Opened one after another, since a process may have few files open.
    if (size > MAX_PACKED_NOTHING || (size > 0 && (await hasBytes(file)))) others.push(file);
  }
  return others.length > 0 ? others : files;
}

/** A larger file is not opened to see whether it has a byte. */
const MAX_PACKED_NOTHING = 512;

/** Whether a file has bytes once it is unpacked. */
async function hasBytes(file: string): Promise<boolean> {
  const source = (await ByteSource.open(file)) as ByteSource;
  try {
    return (await (await source.uncompressed()).peek(1)).length > 0;
  } finally {
    await source.close();
  }
}

/** The files of a list of files, folders and patterns. */
async function listed(source: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const one of source) files.push(...((await shardsAt(one)) ?? [one]));
  const known = new Map<string, string>();
  for (const file of files) {
    const place = isAddress(file) ? file : await realpath(file);
    const other = known.get(place);
    if (other !== undefined) throw new FormatError(`the same file as ${other}, given twice`, file);
    known.set(place, file);
  }
  return files;
}

/** The files of one folder or pattern; null for a file, an address or a folder of texts. */
async function shardsAt(path: string): Promise<string[] | null> {
  if (isAddress(path)) return null;
  const there = await stat(path).catch(() => null);
  if (there === null) return /[*?]/.test(path) ? matching(path) : null;
  return there.isDirectory() ? shardsIn(path) : null;
}

/**
 * The shards in a folder. Names with _ in front, of files or of folders in it, are those of other
 * programs, such as `_SUCCESS`.
 */
async function shardsIn(folder: string): Promise<string[] | null> {
  const files = (await filesOf(folder)).filter((file) => !/(?:^|\/)_/.test(file));
  const isShard = (file: string) => ![null, 'text'].includes(formatOfPath(file));
  // Without any file of rows the folder is one of texts.
  if (!files.some(isShard)) return null;
  const other = files.find((file) => !isShard(file));
  if (other === undefined) return files.map((file) => join(folder, file));
  const advice =
    "name the shards by a pattern, as 'folder/*.jsonl', or read texts by format 'text'";
  throw new FormatError(
    `a folder of rows that has other files too, as ${other}: ${advice}`,
    folder,
  );
}

/** The files that match a pattern, in the order of their names; throws where there is none. */
async function matching(pattern: string): Promise<string[]> {
  const { folder, form } = partsOf(pattern);
  const files = await filesOf(folder).catch(() => []);
  const found = files.filter((file) => form.test(file));
  if (found.length === 0) throw new FormatError('no file matches the pattern', pattern);
  return found.map((file) => join(folder, file));
}

/**
 * The folder of a pattern, and the form of paths in it: * and ? within a name, ** for folders. None
 * of them stands for a first . or _ of a name.
 */
function partsOf(pattern: string): { folder: string; form: RegExp } {
  const parts = pattern.split('/');
  // The parts before the first * or ? are the folder; the rest becomes a regular expression.
  const first = parts.findIndex((part) => /[*?]/.test(part));
  const folder = parts.slice(0, first).join('/') || (pattern.startsWith('/') ? '/' : '.');
  const rest = parts
    .slice(first)
    .join('/')
    .replace(/[.+^${}()|[\]\\]/g, '\\$&');
  const form = rest.replace(/\*\*\/|\*|\?/g, (mark, at) => {
    const isFirst = at === 0 || rest[at - 1] === '/';
    const some = isFirst ? '(?![._])[^/]' : '[^/]';
    if (mark === '**/') return `(?:${some}*/)*`;
    return mark === '*' ? `${some}*` : some;
  });
  return { folder, form: new RegExp(`^${form}$`, 'u') };
}

/**
 * The rows of all shards, one after another. `open` opens one of them, whose rows follow `firstRow`
 * others.
 */
export async function openShards(
  files: readonly string[],
  name: string,
  open: (file: string, firstRow: number) => Promise<RowReader>,
): Promise<RowReader> {
  if (files.length === 0) throw new FormatError('no shard', name);
  const first = await open(files[0], 0);
  const names = first.columns.map((column) => column.name);

  const read: FormatRows['read'] = async (send) => {
    let firstRow = 0;
    for (const file of files) {
      const shard = file === files[0] ? first : await open(file, firstRow);
      const own = sortedNames(shard);
      if (own !== sortedNames(first)) {
        await shard.close();
        const wanted = `those of the first ${sortedNames(first)}`;
        throw new FormatError(`its columns are ${own}, ${wanted}`, file);
      }
      if (JSON.stringify(shard.model) !== JSON.stringify(first.model)) {
        await shard.close();
        throw new FormatError('another model than that of the first file made its vectors', file);
      }
      const start = firstRow;
      await shard.read((batch) => {
        firstRow = start + batch.firstRow + batch.count;
        const place = { firstRow: start + batch.firstRow, file: batch.file as string };
        // In the order of the first shard, as writers need columns in each batch.
        const isOrdered = batch.columns.every(({ name }, i) => name === names[i]);
        const own = RowBatch.fromArrow(batch.toArrow(), place);
        return send(isOrdered ? own : own.only(names));
      });
    }
  };
  // The first shard is open before rows are read, which they may never be.
  const source = ByteSource.folder(name, () => first.close());
  const { empty, header, format } = first;
  const rows = { empty, read, ...(header !== undefined && { header }) };
  return new RowReader(rows, format, source);
}

function sortedNames({ columns }: RowReader): string {
  return JSON.stringify(columns.map(({ name }) => name).sort());
}

/**
 * The files below a folder by their paths in it, in order; hidden files and folders are left out.
 */
export async function filesOf(folder: string): Promise<string[]> {
  const found: string[] = [];
  const visit = async (path: string) => {
    for (const entry of await readdir(path, { withFileTypes: true })) {
      const inner = join(path, entry.name);
      if (entry.name.startsWith('.')) continue;
      if (entry.isDirectory()) await visit(inner);
      else if (entry.isFile()) found.push(relative(folder, inner).split(sep).join('/'));
    }
  };
  await visit(folder);
  return found.sort();
}
