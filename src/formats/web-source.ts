/**
 * The bytes of a file by its address, from front to back: https://, http://, or hf:// for one of a
 * data set on Hugging Face. A file that changes between two readings is an error.
 */

import type { BigIntStats } from 'node:fs';
import { environmentOf, FormatError, messageOf, wrongValue } from '../base/check';
import { answerWithAll, TIMEOUT_MS, type WebFile } from '../base/http-requests';

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
  /** Of a file here that was read from front to back. */
  readonly checksum?: string;
}

/** By name the files that were read: a later reading of one that has changed fails. */
export type FileStates = Map<string, FileState>;

/** Notes what is known of a file; throws where it has changed since it was noted. */
function noteState(states: FileStates, path: string, { size, version }: FileState): void {
  const known = states.get(path) ?? { size: null, version: null };
  const now = { ...known, size: known.size ?? size, version: known.version ?? version };
  if (now.size !== (size ?? now.size) || now.version !== (version ?? now.version)) {
    throw new FormatError('changed while it was read: start again', path);
  }
  states.set(path, now);
}

/** The same for a file here. */
export function noteFile(states: FileStates, path: string, { size, mtimeNs }: BigIntStats): void {
  noteState(states, path, { size: Number(size), version: String(mtimeNs) });
}

/** The state of a file, by one request where it is not known yet. */
export async function stateOf(address: string, states: FileStates): Promise<FileState> {
  const { path } = fileOf(address);
  if (!states.has(path)) await (await openWeb(address, states)).close();
  return states.get(path) as FileState;
}

/**
 * Asks for a file on a host. `next` gives the pieces of what it sends, none only at the end, and
 * `close` ends the request. What an address asks for besides its path may be secret, and is no part
 * of the name.
 */
export async function openWeb(address: string, states: FileStates) {
  const file = fileOf(address);
  const { path: name } = file;
  const stop = new AbortController();
  const { headers, body } = await answerWithAll(file, stop);
  const isPacked = !['identity', null].includes(headers.get('content-encoding'));
  const size = isPacked ? null : headers.get('content-length');
  const version = headers.get('etag') ?? headers.get('last-modified');
  const close = async () => stop.abort(new Error(`${name}: closed while it was read`));
  try {
    noteState(states, name, { size: size === null ? null : Number(size), version });
  } catch (error) {
    await close();
    throw error;
  }
  const reader = body?.getReader();
  const next = async (): Promise<Uint8Array> => {
    const piece = await reader?.read().catch((cause) => {
      if (stop.signal.aborted) throw stop.signal.reason;
      throw new FormatError(`cut short: the answer broke off: ${messageOf(cause)}`, name);
    });
    return piece?.value ?? new Uint8Array(0);
  };
  return { name, next, close };
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
