/**
 * Requests files from a web host by `fetch`: a range, a whole file, or all of one as a stream. At
 * most 32 requests run at a time for each host. Failures that may be temporary (a lost connection,
 * 408, 429, 5xx, a body that ends early) are tried again after growing waits; a stream goes on
 * behind its last piece. Headers that contradict the range, and every other answer, throw an error
 * with the address. A host that neither answers nor sends 1 MiB, or what is left, within a limit of
 * time is given up. The headers of a file, as a token, go to no other origin.
 */

import { concatenated } from './arrays';
import { FormatError } from './check';
import { whenAborted } from './long-work';

/** Milliseconds without progress after which a request is given up. */
export const TIMEOUT_MS = 30_000;
/** Requests to one host that run at once. Browsers send six of them at a time over HTTP/1.1. */
const PARALLEL = 32;
/** How often a request is tried before its error is thrown. */
const TRIES = 5;
/** Milliseconds before the second try; twice as many before each further one. */
const FIRST_WAIT = 100;
/** Answers in a row that may name another address. */
const MAX_REDIRECTS = 5;
const REDIRECTS = [301, 302, 303, 307, 308];
/** Bytes that must come within the limit of time. */
const PROGRESS_BYTES = 2 ** 20;

/**
 * A failure that may be temporary. `error` is thrown after the last try; `wait` is the least time
 * in milliseconds before the next one.
 */
class Passing {
  constructor(
    readonly error: Error,
    readonly wait = 0,
  ) {}
}

/** A file on a web host. */
export interface WebFile {
  readonly url: URL;
  /** The name of the file in errors. */
  readonly path: string;
  /** The limit of time without progress. */
  readonly timeoutMs: number;
  /** Sent to the origin of `url` alone. Node only: a browser sends them after a redirect too. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What to do where the host answers 401 or 403. */
  readonly advice?: string;
  /**
   * Called with what an answer says of the whole file: its size, and the mark of its state (ETag,
   * else Last-Modified); null for what it does not say. Throws where this cannot be.
   */
  check?(size: number | null, version: string | null): void;
}

/**
 * `length` bytes from `at` on of a file of `fileBytes` bytes; of Infinity all that follow. If
 * `fileBytes` is null the whole file, of at most `length` bytes.
 */
export interface Wanted extends WebFile {
  readonly at: number;
  readonly length: number;
  readonly fileBytes: number | null;
}

/** Thrown if the host does not have the file. */
export class MissingError extends FormatError {}

/** Returns the wanted bytes after at most TRIES tries. `stop` ends the request, and is aborted. */
export function bytesOf(wanted: Wanted, stop: AbortController): Promise<Uint8Array> {
  return tried(wanted, stop, () => inTurn(wanted.url.host, () => answered(wanted, stop)));
}

/** All bytes of a file, one piece after another. */
export class WebStream {
  /** The size of the file as the first answer says it; null where it says none. */
  size: number | null = null;
  /** True where the host gives any range of the file. */
  hasRanges = false;
  /** Bytes that came. */
  at = 0;
  #reader: Reader | null = null;

  /** `stop` ends the stream. */
  constructor(
    private readonly file: WebFile,
    private readonly stop: AbortController,
  ) {}

  /** The next piece: what comes first, then 1 MiB or what is left, then nothing. */
  next(): Promise<Uint8Array> {
    const { file, stop } = this;
    return tried(file, stop, async () => {
      try {
        this.#reader ??= await inTurn(file.url.host, () => {
          return limited(file, stop, () => this.#request());
        });
        return await limited(file, stop, () => this.#piece());
      } catch (error) {
        this.#reader = null;
        // Without ranges a stream cannot go on behind its first piece.
        throw error instanceof Passing && this.at > 0 && !this.hasRanges ? error.error : error;
      }
    });
  }

  /** Ends the request. */
  async close(): Promise<void> {
    await this.#reader?.cancel().catch(() => undefined);
  }

  async #piece(): Promise<Uint8Array> {
    const { file, stop, at, size } = this;
    if (this.#reader === null) return new Uint8Array(0);
    const piece = await pieceOf(this.#reader, at === 0 ? 1 : PROGRESS_BYTES).catch((cause) => {
      throw failure(file, stop.signal, 'the answer broke off', cause);
    });
    if (size !== null && at + piece.length > size) {
      throw new FormatError(`damaged: more than ${size} bytes came`, file.path);
    }
    if (size !== null && piece.length === 0 && at < size) {
      throw new Passing(new FormatError(`cut short: ${at} bytes came of ${size}`, file.path));
    }
    this.at += piece.length;
    return piece;
  }

  /** Asks for all bytes from `at` on; null where there are none. */
  async #request(): Promise<Reader | null> {
    const { file, stop, at } = this;
    const wanted = { ...file, at, length: Infinity, fileBytes: null };
    const { reader, size, isRange } = await answerOf(wanted, stop.signal);
    if (at === 0) {
      this.size = size;
      this.hasRanges = isRange && size !== null;
    }
    return reader;
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** Calls `once` until it does not fail, or fails for good; waits longer before each further try. */
async function tried<T>(
  { timeoutMs }: WebFile,
  { signal }: AbortController,
  once: () => Promise<T>,
): Promise<T> {
  /** Milliseconds that were waited. */
  let waited = 0;
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted();
    const got = await once().catch((error) => {
      if (error instanceof Passing) return error;
      throw error;
    });
    if (!(got instanceof Passing)) return got;
    const wait = Math.max(got.wait, FIRST_WAIT * 2 ** (tries - 1));
    waited += wait;
    if (tries === TRIES || waited > timeoutMs) throw got.error;
    await pause(wait, signal);
  }
}

/**
 * For each host the number of running requests, and functions that start the waiting ones, in
 * order.
 */
const hosts = new Map<string, { running: number; waiting: (() => void)[] }>();

/** Runs a request as soon as fewer than PARALLEL others of its host run. */
async function inTurn<T>(name: string, request: () => Promise<T>): Promise<T> {
  const host = hosts.get(name) ?? { running: 0, waiting: [] };
  hosts.set(name, host);
  if (host.running < PARALLEL) host.running++;
  else await new Promise<void>((go) => host.waiting.push(go));
  try {
    return await request();
  } finally {
    // The next request takes over this place, so the number of running requests stays the same.
    const next = host.waiting.shift();
    if (next !== undefined) next();
    else if (--host.running === 0) hosts.delete(name);
  }
}

/** Waits for some milliseconds; rejects as soon as the signal is aborted. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      unwatch();
      resolve();
    }, milliseconds);
    const unwatch = whenAborted(signal, () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** Runs a step of a request that ends in time; else aborts `stop` with the error. */
async function limited<T>(
  { timeoutMs, path }: WebFile,
  stop: AbortController,
  run: () => Promise<T>,
): Promise<T> {
  stop.signal.throwIfAborted();
  const timer = setTimeout(() => {
    const what = `took more than ${timeoutMs / 1000} s for 1 MiB, or for what was left`;
    stop.abort(new Error(`${path}: the host ${what}`));
  }, timeoutMs);
  try {
    return await run();
  } finally {
    clearTimeout(timer);
  }
}

/** The bytes that one request brings. Throws a Passing if another try may succeed. */
async function answered(wanted: Wanted, stop: AbortController): Promise<Uint8Array> {
  const { path, at, length, fileBytes } = wanted;
  const { reader } = await limited(wanted, stop, () => answerOf(wanted, stop.signal));
  const pieces: Uint8Array[] = [];
  let count = 0;
  for (let isEnd = reader === null; !isEnd; ) {
    const most = Math.min(PROGRESS_BYTES, length - count + 1);
    const piece = await limited(wanted, stop, () => pieceOf(reader as Reader, most)).catch(
      (cause) => {
        throw failure(wanted, stop.signal, 'the answer broke off', cause);
      },
    );
    count += piece.length;
    isEnd = piece.length === 0;
    if (!isEnd) pieces.push(piece);
    if (count <= length) continue;
    await reader?.cancel();
    throw new FormatError(`damaged: more than ${length} bytes came`, path);
  }
  if (fileBytes !== null && count !== length) {
    const what = `cut short: ${count} bytes came of ${length} from byte ${at} on`;
    throw new Passing(new FormatError(what, path));
  }
  return pieces.length === 1 ? pieces[0] : concatenated(pieces);
}

/**
 * Asks for a part, and checks status and headers. `reader` is null without a body, as of an empty
 * file; `size` is that of the file, null where it is not said or `fetch` unpacks what comes.
 */
async function answerOf(wanted: Wanted, signal: AbortSignal) {
  const { at, length, fileBytes } = wanted;
  const isStream = length === Infinity;
  const end = isStream ? '' : at + length - 1;
  const range = fileBytes === null && !isStream ? null : `bytes=${at}-${end}`;
  const response = await fetched(wanted, range, signal);
  const { status, headers, body } = response;
  const isRange = status === 206 && range !== null;
  const said = headers.get('content-range')?.trim();
  const isPacked = !['identity', null].includes(headers.get('content-encoding'));
  const sizeText = status === 200 ? headers.get('content-length') : said?.replace(/^.*\//, '');
  const size = isPacked || !/^\d+$/.test(sizeText ?? '') ? null : Number(sizeText);
  try {
    if (isRange || status === 416 || (status === 200 && isStream)) {
      wanted.check?.(size, headers.get('etag') ?? headers.get('last-modified'));
    }
    if (status === 416 && isStream && size === at) return { reader: null, size, isRange };
    // A page sees this header only if the other host exposes it (CORS). Lengths and checksums of
    // bodies are compared in any case.
    const fits = said?.startsWith(`bytes ${at}-${isStream ? '' : `${end}/`}`) ?? !isStream;
    const mayBeAll = isStream ? at === 0 : fileBytes === null || length === fileBytes;
    if (isRange ? !fits : status !== 200 || !mayBeAll) {
      throw refusal(response, wanted, `bytes ${at} to ${isStream ? 'the end' : end}`);
    }
    return { reader: body?.getReader() ?? null, size, isRange };
  } catch (error) {
    await body?.cancel().catch(() => undefined);
    throw error;
  }
}

/** What a failed connection throws: the reason of an aborted signal, else a Passing. */
function failure({ path }: WebFile, signal: AbortSignal, what: string, cause: unknown): unknown {
  if (signal.aborted) return signal.reason;
  const why = (cause as { cause?: Error }).cause?.message ?? (cause as Error).message;
  return new Passing(new Error(`${path}: ${what}: ${why}`, { cause }));
}

/** `fetch` that goes to another address a few times at most. */
async function fetched(
  file: WebFile,
  range: string | null,
  signal: AbortSignal,
): Promise<Response> {
  const { url: first, path } = file;
  const headers = range === null ? undefined : { range };
  // Chromium's cache runs one request for a file at a time: 12 ranges take 1.4 s with it, 0.36 s
  // without.
  const cache = range === null ? 'no-cache' : 'no-store';
  let url = first;
  try {
    for (let left = MAX_REDIRECTS; ; left--) {
      const own = url.origin === first.origin ? { ...file.headers, ...headers } : headers;
      const init: RequestInit = { headers: own, cache, signal };
      const response = await fetch(url, { ...init, redirect: 'manual' });
      // A page is not told the other address; the browser limits how often it goes on.
      if (response.type === 'opaqueredirect') return await fetch(url, init);
      const other = response.headers.get('location');
      if (!REDIRECTS.includes(response.status) || other === null) return response;
      await response.body?.cancel();
      if (left === 0) {
        const what = `the host names another address ${MAX_REDIRECTS} times in a row`;
        throw new FormatError(what, path);
      }
      url = new URL(other, url);
    }
  } catch (cause) {
    if (cause instanceof FormatError) throw cause;
    const what = 'the host cannot be reached, or does not allow this page to read it (CORS)';
    throw failure(file, signal, what, cause);
  }
}

/** What an answer that does not fit throws; `range` are the bytes that were asked for. */
function refusal({ status, statusText, headers }: Response, file: WebFile, range: string): unknown {
  const { path } = file;
  if (status === 206) {
    const said = headers.get('content-range');
    return new FormatError(`${range} were asked for, the host answered "${said}"`, path);
  }
  if (status === 200) {
    const what = 'the host ignores range requests, it answered 200 with the whole file';
    return new Error(`${path}: ${what}: another host answers them with 206`);
  }
  if (status === 404 || status === 410) {
    return new MissingError(`the host does not have it, it answered ${status}`, path);
  }
  if (status === 416) return new FormatError(`cut short: it does not have ${range}`, path);
  const advice = file.advice && (status === 401 || status === 403) ? `: ${file.advice}` : '';
  const answer = `${status} ${statusText}`.trim();
  const error = new Error(`${path}: the host answered ${answer}${advice}`);
  if (status !== 408 && status !== 429 && status < 500) return error;
  const after = Number(headers.get('retry-after')); // NaN of a date: then as without
  return new Passing(error, after > 0 ? after * 1000 : 0);
}

/** At least `count` of the next bytes of a body; fewer only at its end. */
async function pieceOf(reader: Reader, count: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (length < count) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    length += value.length;
  }
  return chunks.length === 1 ? chunks[0] : concatenated(chunks);
}
