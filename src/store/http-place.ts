/**
 * Reads the files of an index on a web host by range requests, in a browser or in Node. Ranges
 * close to each other become one request. http-requests.ts runs at most 32 requests at a time for
 * each host and repeats those that fail temporarily. An answer that is not the requested range
 * throws an error with the address. Files never change under their names, and the caller compares
 * checksums, so an index that is published again never mixes with the one that is open.
 */

import { checkInteger, wrongType, wrongValue } from '../base/check';
import { bytesOf, MissingError, TIMEOUT_MS, type Wanted } from '../base/http-requests';
import { whenAborted } from '../base/long-work';
import type { ByteRange } from '../table/arrow/messages';
import { checkFileSize } from '../table/sealed/seal';
import { parseManifest } from './manifest';
import {
  MissingFileError,
  type NamedFile,
  type Place,
  readJoined,
  type TargetRange,
} from './place';

/**
 * Ranges at most this many bytes apart become one request, which also reads the bytes between them.
 */
const MAX_GAP = 2 ** 13;
/**
 * Most bytes of a manifest. Its size is not known in advance, and a host could send without end.
 */
const MAX_MANIFEST_BYTES = 2 ** 26;

export class HttpPlace implements Place {
  readonly name: string;
  readonly isFar = true;
  readonly #base: URL;
  /** The running reads, which `close` aborts; null once it was closed. */
  #running: Set<AbortController> | null = new Set();
  readonly #timeoutMs: number;

  /** `address` is the address of the folder; in a page it may be relative. */
  constructor(address: string | URL, timeoutMs = TIMEOUT_MS) {
    this.#timeoutMs = checkInteger('timeoutMs', timeoutMs, 1, 2 ** 31 - 1);
    this.#base = folderAddress(address);
    this.name = `${this.#base.origin}${this.#base.pathname.slice(0, -1)}`;
  }

  /** `manifest.json` belongs to the newest generation. */
  async manifest(signal?: AbortSignal) {
    const name = 'manifest.json';
    const wanted = { ...this.#named(name), at: 0, length: MAX_MANIFEST_BYTES, fileBytes: null };
    const [bytes] = await this.#all([wanted], signal).catch((error) => {
      if (error instanceof MissingError) return [null];
      throw error;
    });
    return bytes && parseManifest(bytes, wanted.path);
  }

  async read(
    file: NamedFile,
    ranges: readonly TargetRange[],
    memory: Uint8Array,
    signal?: AbortSignal,
  ): Promise<void> {
    const named = this.#named(file.name);
    const check = (size: number | null) => {
      if (size !== null) checkFileSize(size, file.bytes, named.path);
    };
    const target = { ...named, fileBytes: file.bytes, check };
    const readAll = (joined: readonly ByteRange[]) =>
      this.#all(
        joined.map(({ at, length }) => ({ ...target, at, length })),
        signal,
      );
    const read = await readJoined(ranges, MAX_GAP, readAll).catch((error) => {
      throw error instanceof MissingError ? new MissingFileError(named.path) : error;
    });
    for (const [i, bytes] of read.entries()) memory.set(bytes, ranges[i].to);
  }

  async close(): Promise<void> {
    const running = this.#running ?? [];
    this.#running = null;
    for (const own of running) own.abort(new Error(`${this.name}: closed while it was read`));
  }

  #named(name: string) {
    const url = new URL(this.#base);
    url.pathname += name;
    return { url, path: `${this.name}/${name}`, timeoutMs: this.#timeoutMs };
  }

  /** The bodies of some requests, in the order given. The first error aborts the others. */
  #all(requests: readonly Wanted[], signal: AbortSignal | undefined): Promise<Uint8Array[]> {
    signal?.throwIfAborted();
    if (this.#running === null) return Promise.reject(new Error(`${this.name}: it is closed`));
    const own = new AbortController();
    // One signal for all of these requests: the caller, `close` and the first error can end them.
    const unwatch = whenAborted(signal, () => own.abort(signal?.reason));
    this.#running.add(own);
    return new Promise<Uint8Array[]>((resolve, reject) => {
      // Rejects at once, even if a request does not notice the abort.
      own.signal.addEventListener('abort', () => reject(own.signal.reason));
      const bodies = requests.map((wanted) => bytesOf(wanted, own));
      Promise.all(bodies).then(resolve, (error) => own.abort(error));
    }).finally(() => {
      this.#running?.delete(own);
      unwatch();
    });
  }
}

/**
 * The address of a folder, with a slash at its end. Throws for protocols other than http and https.
 */
function folderAddress(address: string | URL): URL {
  if (typeof address !== 'string' && !(address instanceof URL)) {
    throw wrongType('url', 'an address', address);
  }
  const page = (globalThis as { location?: { href: string } }).location?.href;
  let url: URL | null = null;
  try {
    url = new URL(address, page);
  } catch {}
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw wrongValue('url', 'an address that begins with https:// or http://', String(address));
  }
  url.hash = '';
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}
