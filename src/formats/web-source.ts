/**
 * The bytes of a file by its address: https://, http://, or hf:// for one of a data set on Hugging
 * Face. One stream gives them from front to back; ranges give those that are needed, where the host
 * has them. A file that changes between two answers is an error.
 */

import type { BigIntStats } from 'node:fs';
import { ChangedError, environmentOf, wrongValue } from '../base/check';
import { bytesOf, TIMEOUT_MS, type WebFile, WebStream } from '../base/http-requests';
import { readJoined } from '../store/place';
import type { ByteFile } from '../table/arrow/batches';

/** Ranges at most this many bytes apart become one request. */
const MAX_GAP = 2 ** 16;
/** hf://datasets/OWNER/NAME[@REVISION]/path; only revisions of these forms have slashes. */
const HUB = /^hf:\/\/datasets\/([^/@]+\/[^/@]+)(?:@(refs\/(?:convert|pr)\/[^/]+|[^/]+))?\/(.+)$/i;

export const isAddress = (text: string) => /^(?:https?|hf):\/\//i.test(text);

/** What a path is called on this machine: of an address the last part, without what follows it. */
export function localName(path: string): string {
  if (!isAddress(path)) return path;
  return path
    .replace(/[?#].*/s, '')
    .split('/')
    .filter(Boolean)
    .at(-1) as string;
}

/** The size of a file, and the mark of its state; null for what its host does not say. */
interface FileState {
  readonly size: number | null;
  readonly version: string | null;
  /** Of a file here, a folder of texts or a stream that was read from front to back. */
  readonly checksum?: string;
}

/** By name the files that were read: a later reading of one that has changed fails. */
export type FileStates = Map<string, FileState>;

/** Notes what is known of a file; throws where it has changed since it was noted. */
function noteState(states: FileStates, path: string, { size, version }: FileState): void {
  const known = states.get(path) ?? { size: null, version: null };
  const now = { ...known, size: known.size ?? size, version: known.version ?? version };
  if (now.size !== (size ?? now.size) || now.version !== (version ?? now.version)) {
    throw changed(path);
  }
  states.set(path, now);
}

/** The same for a file here. */
export function noteFile(states: FileStates, path: string, { size, mtimeNs }: BigIntStats): void {
  noteState(states, path, { size: Number(size), version: String(mtimeNs) });
}

/** Notes the checksum of what was read from front to back; throws where it was another before. */
export function noteChecksum(states: FileStates, path: string, checksum: string): void {
  const known = states.get(path) ?? { size: null, version: null };
  if (known.checksum !== undefined && known.checksum !== checksum) throw changed(path);
  states.set(path, { ...known, checksum });
}

const changed = (path: string) => new ChangedError('changed while it was read: start again', path);

/** The state of a file, by one request where it is not known yet. */
export async function stateOf(address: string, states: FileStates): Promise<FileState> {
  const { path } = fileOf(address);
  if (!states.has(path)) await (await openWeb(address, states)).close();
  return states.get(path) as FileState;
}

/**
 * Asks for a file on a host, and reads its first piece. `next` gives the pieces of its stream, none
 * only at the end; `ranges` is null where the host gives none; `close` ends all requests. Its name
 * is without what an address asks for besides its path, which may be secret.
 */
export async function openWeb(address: string, states: FileStates) {
  const given = fileOf(address);
  const name = given.path;
  const check = (size: number | null, version: string | null) =>
    noteState(states, name, { size, version });
  const file: WebFile = { ...given, check };
  const stop = new AbortController();
  const stream = new WebStream(file, stop);
  let first: Uint8Array | null = await stream.next();
  const { hasRanges, size: byteCount } = stream;
  const next = async () => {
    const piece = first;
    first = null;
    return piece ?? stream.next();
  };
  // Requests ranges at once; the stream ends.
  const read: ByteFile['read'] = async (ranges) => {
    await stream.close();
    return readJoined(ranges, MAX_GAP, (joined) =>
      Promise.all(
        joined.map(({ at, length }) =>
          bytesOf({ ...file, fileBytes: byteCount, at, length }, stop),
        ),
      ),
    );
  };
  const ranges: ByteFile | null = hasRanges && byteCount !== null ? { byteCount, read } : null;
  const close = async () => stop.abort(new Error(`${name}: closed while it was read`));
  return { name, next, ranges, close };
}

/** The file that an address names. Refuses patterns: a host does not list its files. */
function fileOf(address: string): WebFile {
  const name = address.replace(/[?#].*/s, '');
  const [isHub, repository, revision = 'main', path] = HUB.exec(address) ?? [];
  if (name.includes('*')) {
    throw wrongValue('source', 'the address of one file: a host does not list its files', name);
  }
  if (isHub) return { ...hubFile(repository, revision, path), path: address };
  const url = URL.canParse(address) && !/^hf:/i.test(address) ? new URL(address) : null;
  if (url === null) {
    const forms = 'https://HOST/PATH or hf://datasets/OWNER/NAME[@REVISION]/PATH';
    throw wrongValue('source', forms, name);
  }
  const own = `${url.origin}${url.pathname}`;
  if (url.username === '' && url.password === '') return { url, path: own, timeoutMs: TIMEOUT_MS };
  throw wrongValue('source', 'an address without a name and password', own);
}

/** The address of a file on Hugging Face: huggingface.co/docs/huggingface_hub, "HF URIs". */
function hubFile(repository: string, revision: string, path: string): Omit<WebFile, 'path'> {
  const endpoint = environmentOf('HF_ENDPOINT') || 'https://huggingface.co';
  const token = environmentOf('HF_TOKEN');
  // `~parquet` is short for the branch refs/convert/parquet.
  const branch = revision.replace(/^~/, 'refs/convert/').replaceAll(/%2f/gi, '/');
  const at = ['resolve', branch, ...path.split('/')].map(encodeURIComponent).join('/');
  return {
    url: new URL(`${endpoint.replace(/\/+$/, '')}/datasets/${repository}/${at}`),
    timeoutMs: TIMEOUT_MS,
    advice: 'there is no such data set, or HF_TOKEN must be a token that may read it',
    ...(token && { headers: { authorization: `Bearer ${token}` } }),
  };
}
