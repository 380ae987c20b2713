/**
 * Reads the files of an index on a web host by range requests, in a browser or in Node. Ranges
 * close to each other become one request. http-requests.ts runs at most six requests at a time for
 * each host and repeats those that fail temporarily. An answer that is not the requested range
 * throws an error with the address. Files never change under their names, and the caller compares
 * checksums, so an index that is published again never mixes with the one that is open.
 */

import { checkInteger, FormatError, wrongType, wrongValue } from '../base/check';
import { bytesOf, MissingError, TIMEOUT_MS, type Wanted } from '../base/http-requests';
import { whenAborted } from '../base/long-work';
import { checkFileSize } from '../table/sealed/seal';
import { type ByteRange, IS_MISSING, joinedRanges, type NamedFile, type Place } from './place';

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
  /** The generation of the manifest that was read last; null before. */
  #generation: number | null = null;
  /** The running reads, which `close` aborts. */
  readonly #running = new Set<AbortController>();
  readonly #timeoutMs: number;

  /** `address` is the address of the folder; in a page it may be relative. */
  constructor(address: string | URL, timeoutMs = TIMEOUT_MS) {
    this.#timeoutMs = checkInteger('timeoutMs', timeoutMs, 1, 2 ** 31 - 1);
    this.#base = folderAddress(address);
    this.name = `${this.#base.origin}${this.#base.pathname.slice(0, -1)}`;
  }

  async manifest(signal?: AbortSignal) {
    const found = await this.#manifest(signal);
    this.#generation = found?.generation ?? null;
    return found;
  }

  /** `manifest.json` belongs to the newest generation. */
  async #manifest(signal?: AbortSignal) {
    const name = 'manifest.json';
    const wanted = { ...this.#named(name), at: 0, length: MAX_MANIFEST_BYTES, fileBytes: null };
    const [bytes] = await this.#all([wanted], signal).catch((error) => {
      if (error instanceof MissingError) return [null];
      throw error;
    });
    if (bytes === null) return null;
    // The caller checks the manifest against this number; it is not parsed here.
    const own = /"generation": (\d{1,15})\b/.exec(new TextDecoder().decode(bytes))?.[1];
    if (own !== undefined) return { name, generation: Number(own), bytes };
    throw new FormatError('cannot be read as a manifest: it names no generation', wanted.path);
  }

  async read(
    file: NamedFile,
    ranges: readonly ByteRange[],
    signal?: AbortSignal,
  ): Promise<Uint8Array[]> {
    const requests = joinedRanges(ranges, MAX_GAP);
    const named = this.#named(file.name);
    const check = (size: number | null) => {
      if (size !== null) checkFileSize(size, file.bytes, named.path);
    };
    const target = { ...named, fileBytes: file.bytes, check };
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
        // A part is copied, so that the bytes around it can be freed.
        results[part] = isAll ? bodies[i] : bodies[i].slice(from, from + own.length);
      }
    });
    return results;
  }

  async close(): Promise<void> {
    for (const own of this.#running) own.abort(new Error(`${this.name}: closed while it was read`));
  }

  #named(name: string) {
    const url = new URL(this.#base);
    url.pathname += name;
    return { url, path: `${this.name}/${name}`, timeoutMs: this.#timeoutMs };
  }

  /** The bodies of some requests, in the order given. The first error aborts the others. */
  #all(requests: readonly Wanted[], signal: AbortSignal | undefined): Promise<Uint8Array[]> {
    signal?.throwIfAborted();
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
      this.#running.delete(own);
      unwatch();
    });
  }

  /**
   * Adds to the error of a missing file that another generation was published since, if that is so.
   */
  async #gone({ file }: MissingError, signal: AbortSignal | undefined): Promise<Error> {
    const missing = new FormatError(IS_MISSING, file);
    // A host that publishes an index again may delete the files of the open generation.
    const now = await this.#manifest(signal).catch(() => null);
    if (now === null || now.generation === this.#generation) return missing;
    const what = `${missing.message}; generation ${now.generation} was published since`;
    return new Error(`${what}: open the index again`, { cause: missing });
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
