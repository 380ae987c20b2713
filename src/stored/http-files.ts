/**
 * The files of an index on a web host, read by range requests: in a browser as in Node. Ranges that
 * are near each other are one request, at most six run at a time for a host, and what may pass (a
 * lost connection, 429, 5xx) is tried again. An answer that is not the bytes asked for is an error
 * that names the address. Files never change under their names, and the caller compares checksums:
 * an index that is published again is never mixed with the one that is open.
 */

import { wrongType, wrongValue } from '../base/check';
import { FormatError } from '../base/format-error';
import { bytesOf, MissingError, type Wanted } from './http-requests';
import { manifestName } from './manifest';
import { type ByteRange, joined, type NamedFile, type StoredFiles } from './stored-files';

/** Bytes between two ranges that are read to save a request. */
const MAX_GAP = 2 ** 13;
/** A host may send without end. */
const MAX_MANIFEST_BYTES = 2 ** 26;

export class HttpFiles implements StoredFiles {
  readonly place: string;
  readonly isFar = true;
  readonly #base: URL;
  /** Of the manifest that was read last. */
  #generation: number | null = null;
  readonly #running = new Set<AbortController>();

  /** `address` is that of the folder; in a page it may be relative. */
  constructor(address: string | URL) {
    this.#base = folderAddress(address);
    this.place = `${this.#base.origin}${this.#base.pathname.slice(0, -1)}`;
  }

  async manifest(generation: number | undefined, signal?: AbortSignal) {
    const found = await this.#manifest(generation, signal);
    this.#generation = found?.generation ?? null;
    return found;
  }

  async #manifest(generation: number | undefined, signal?: AbortSignal) {
    const name = generation === undefined ? 'manifest.json' : manifestName(generation);
    const wanted = { ...this.#named(name), at: 0, length: MAX_MANIFEST_BYTES, fileBytes: null };
    const [bytes] = await this.#all([wanted], signal).catch((error) => {
      if (error instanceof MissingError) return [null];
      throw error;
    });
    if (bytes === null) return null;
    const own = /"generation": (\d{1,15})\b/.exec(new TextDecoder().decode(bytes))?.[1];
    if (own !== undefined) return { name, generation: Number(own), bytes };
    throw new FormatError('cannot be read as a manifest: it names no generation', wanted.path);
  }

  async read(
    file: NamedFile,
    ranges: readonly ByteRange[],
    signal?: AbortSignal,
  ): Promise<Uint8Array[]> {
    const requests = joined(ranges, MAX_GAP);
    const target = { ...this.#named(file.name), fileBytes: file.bytes };
    const bodies = await this.#all(
      requests.map(({ at, length }) => ({ ...target, at, length })),
      signal,
    ).catch(async (error) => {
      throw error instanceof MissingError ? await this.#gone(error, signal) : error;
    });
    const results: Uint8Array[] = ranges.map(() => new Uint8Array(0));
    requests.forEach(({ at, length, parts }, i) => {
      for (const part of parts) {
        const own = ranges[part];
        const from = own.at - at;
        const isAll = own.length === length;
        results[part] = isAll ? bodies[i] : bodies[i].slice(from, from + own.length);
      }
    });
    return results;
  }

  async close(): Promise<void> {
    for (const own of this.#running)
      own.abort(new Error(`${this.place}: closed while it was read`));
  }

  #named(name: string) {
    const url = new URL(this.#base);
    url.pathname += name;
    return { url, path: `${this.place}/${name}` };
  }

  /** The bodies of requests; the first error ends the others. */
  #all(requests: readonly Wanted[], signal: AbortSignal | undefined): Promise<Uint8Array[]> {
    signal?.throwIfAborted();
    const own = new AbortController();
    const stop = () => own.abort(signal?.reason);
    signal?.addEventListener('abort', stop);
    this.#running.add(own);
    return new Promise<Uint8Array[]>((resolve, reject) => {
      own.signal.addEventListener('abort', () => reject(own.signal.reason));
      const bodies = requests.map((wanted) => bytesOf(wanted, own.signal));
      Promise.all(bodies).then(resolve, (error) => own.abort(error));
    }).finally(() => {
      signal?.removeEventListener('abort', stop);
      this.#running.delete(own);
    });
  }

  /** The error of a file that is missing: it says so where there is another generation by now. */
  async #gone(missing: Error, signal: AbortSignal | undefined): Promise<Error> {
    const now = await this.#manifest(undefined, signal).catch(() => null);
    if (now === null || now.generation === this.#generation) return missing;
    const what = `${missing.message}; generation ${now.generation} was published since`;
    return new Error(`${what}: open the index again`, { cause: missing });
  }
}

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
