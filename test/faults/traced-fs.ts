/**
 * `node:fs/promises` for the writers under test: the real one, whose calls are recorded, and of which
 * one may fail. The bundle of scripts/faults.mjs puts it in the place of the module. Reads are not
 * recorded, but may fail too.
 */

import { resolve } from 'node:path';
// biome-ignore lint/style/useNodejsImportProtocol: with its protocol it would be this file
import * as real from 'fs/promises';

// Files of tests themselves are written by `writeFile`, which no trace has.
// biome-ignore lint/style/useNodejsImportProtocol: as above
export { constants, writeFile } from 'fs/promises';

/** What reached the file system; files by a number, since names move. */
export type Event =
  | { kind: 'create' | 'remove' | 'folder'; path: string; file: number }
  | { kind: 'write'; file: number; at: number; bytes: Uint8Array }
  | { kind: 'sync'; file: number }
  | { kind: 'sync folder'; path: string }
  | { kind: 'link'; from: string; path: string; file: number }
  | { kind: 'rename'; from: string; path: string; file: number }
  | { kind: 'done'; state: number };

interface Recorder {
  events: Event[] | null;
  /** Calls so far, and the number of the one that fails with `code`; -1 for none. */
  count: number;
  failing: number;
  code: string;
  /** Paths of the files that are open. */
  readonly open: Set<{ path: string }>;
}

export const recorder: Recorder = {
  events: null,
  count: 0,
  failing: -1,
  code: 'EIO',
  open: new Set(),
};

/** The number of the file at a path, while it is recorded. */
const files = new Map<string, number>();
let fileCount = 0;

export function startRecording(): Event[] {
  files.clear();
  recorder.events = [];
  return recorder.events;
}

function mayFail(name: string): void {
  if (recorder.count++ !== recorder.failing) return;
  const { code } = recorder;
  throw Object.assign(new Error(`${code}: injected, ${name}`), { code });
}

const record = (event: Event) => recorder.events?.push(event);

function fileAt(path: string): number {
  const known = files.get(path);
  if (known !== undefined) return known;
  files.set(path, ++fileCount);
  return fileCount;
}

export async function open(path: string, flags = 'r', mode?: number): Promise<real.FileHandle> {
  mayFail(`open ${path}`);
  const handle = await real.open(path, flags, mode);
  const full = resolve(path);
  const isFolder = (await handle.stat()).isDirectory();
  if (/[wax]/.test(flags)) {
    files.delete(full);
    record({ kind: 'create', path: full, file: fileAt(full) });
  }
  return traced(handle, { path: full, file: isFolder ? 0 : fileAt(full) });
}

/** A file whose calls are recorded and may fail. */
function traced(handle: real.FileHandle, of: { path: string; file: number }): real.FileHandle {
  let at = 0;
  recorder.open.add(of);
  const own: Record<string, (...args: never[]) => Promise<unknown>> = {
    async write(bytes: Uint8Array, offset: number, length: number, position?: number | null) {
      mayFail('write');
      const result = await handle.write(bytes, offset, length, position);
      const start = position ?? at;
      const written = bytes.slice(offset, offset + result.bytesWritten);
      record({ kind: 'write', file: of.file, at: start, bytes: written });
      at = start + result.bytesWritten;
      return result;
    },
    async sync() {
      mayFail('sync');
      await handle.sync();
      const { path, file } = of;
      record(file === 0 ? { kind: 'sync folder', path } : { kind: 'sync', file });
    },
    async close() {
      await handle.close(); // first, lest handles leak
      recorder.open.delete(of);
      mayFail('close');
    },
    async read(...args: Parameters<real.FileHandle['read']>) {
      mayFail('read');
      return handle.read(...args);
    },
    async stat() {
      mayFail('stat');
      return handle.stat();
    },
  };
  const known = ['fd', 'appendFile'];
  return new Proxy(handle, {
    get(target, name: string) {
      if (name in own) return own[name];
      const value: unknown = Reflect.get(target, name);
      if (typeof value === 'function' && !known.includes(name)) {
        throw new Error(`the writers under test call ${name}, which is not recorded`);
      }
      return value;
    },
  });
}

export async function link(from: string, path: string): Promise<void> {
  mayFail(`link ${path}`);
  await real.link(from, path);
  const [a, b] = [resolve(from), resolve(path)];
  files.set(b, fileAt(a));
  record({ kind: 'link', from: a, path: b, file: fileAt(a) });
}

export async function copyFile(from: string, path: string, mode?: number): Promise<void> {
  mayFail(`copyFile ${path}`);
  await real.copyFile(from, path, mode);
  const full = resolve(path);
  files.delete(full);
  record({ kind: 'create', path: full, file: fileAt(full) });
  const bytes = new Uint8Array(await real.readFile(path));
  record({ kind: 'write', file: fileAt(full), at: 0, bytes });
}

export async function rename(from: string, path: string): Promise<void> {
  mayFail(`rename ${path}`);
  await real.rename(from, path);
  const [a, b] = [resolve(from), resolve(path)];
  files.set(b, fileAt(a));
  record({ kind: 'rename', from: a, path: b, file: fileAt(b) });
  files.delete(a);
}

export async function rm(path: string, options?: Parameters<typeof real.rm>[1]): Promise<void> {
  mayFail(`rm ${path}`);
  await real.rm(path, options);
  const full = resolve(path);
  if (files.has(full)) record({ kind: 'remove', path: full, file: fileAt(full) });
  files.delete(full);
}

export async function mkdir(path: string): Promise<void> {
  mayFail(`mkdir ${path}`);
  await real.mkdir(path);
  record({ kind: 'folder', path: resolve(path), file: 0 });
}

/** Of calls that only read. */
function failing<A extends unknown[], R>(name: string, call: (...args: A) => Promise<R>) {
  return async (...args: A): Promise<R> => {
    mayFail(`${name} ${args[0]}`);
    return call(...args);
  };
}

export const readdir = failing('readdir', real.readdir as (path: string) => Promise<string[]>);
export const readFile = failing('readFile', real.readFile as (path: string) => Promise<Buffer>);
export const stat = failing('stat', real.stat as (path: string) => ReturnType<typeof real.stat>);
export const statfs = failing(
  'statfs',
  real.statfs as (path: string) => ReturnType<typeof real.statfs>,
);
export const lstat = failing(
  'lstat',
  real.lstat as (path: string) => ReturnType<typeof real.lstat>,
);
export const realpath = failing('realpath', real.realpath as (path: string) => Promise<string>);
