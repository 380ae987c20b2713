/**
 * Requests files from a web host by `fetch`: ranges, or a whole file. At most 32 requests run at a
 * time for each host. Failures that may be temporary (a lost connection, 408, 429, 5xx, a body that
 * ends early) are tried again after growing waits. Headers that contradict the range, and every
 * other answer, throw an error with the address. A host that neither answers nor sends 1 MiB, or
 * what is left, within a limit of time is given up. `fetch` sends a token to no other origin.
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
  readonly headers?: Readonly<Record<string, string>>;
  /** What to do where the host answers 401 or 403. */
  readonly advice?: string;
  /** Called with the size of the file, where an answer says it. Throws where this cannot be. */
  check?(size: number): void;
}

/**
 * `length` bytes from `at` on of a file of `fileBytes` bytes. If that is null the whole file, of at
 * most `length` bytes.
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
  const attempt = (progressed: () => void) => answered(wanted, stop.signal, progressed);
  return tried(wanted, stop, () => inTurn(wanted.url.host, () => limited(wanted, stop, attempt)));
}

/** The answer that has all of a file, after at most TRIES tries; its body is not read yet. */
export function answerWithAll(file: WebFile, stop: AbortController): Promise<Response> {
  const attempt = async () => {
    const response = await fetched(file, null, stop.signal);
    if (response.status === 200) return response;
    await response.body?.cancel().catch(() => undefined);
    throw refusal(response, file, 'all bytes');
  };
  return tried(file, stop, () => limited(file, stop, attempt));
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

/** Runs a request as long as it reports progress in time; else aborts `stop` with the error. */
async function limited<T>(
  { timeoutMs, path }: WebFile,
  stop: AbortController,
  run: (progressed: () => void) => Promise<T>,
): Promise<T> {
  stop.signal.throwIfAborted();
  const expire = () => {
    const what = `took more than ${timeoutMs / 1000} s for 1 MiB, or for what was left`;
    stop.abort(new Error(`${path}: the host ${what}`));
  };
  let timer = setTimeout(expire, timeoutMs);
  try {
    return await run(() => {
      clearTimeout(timer);
      timer = setTimeout(expire, timeoutMs);
    });
  } finally {
    clearTimeout(timer);
  }
}

/** The bytes that one request brings. Throws a Passing if another try may succeed. */
async function answered(
  wanted: Wanted,
  signal: AbortSignal,
  progressed: () => void,
): Promise<Uint8Array> {
  const { path, at, length, fileBytes } = wanted;
  const reader = await answerOf(wanted, signal);
  const bytes = await bodyOf(reader, length, progressed).catch((cause) => {
    throw failure(wanted, signal, 'the answer broke off', cause);
  });
  if (bytes === null) throw new FormatError(`damaged: more than ${length} bytes came`, path);
  if (fileBytes === null || bytes.length === length) return bytes;
  const what = `cut short: ${bytes.length} bytes came of ${length} from byte ${at} on`;
  throw new Passing(new FormatError(what, path));
}

/** Asks for a part, and checks status and headers. Null without a body, as of an empty file. */
async function answerOf(wanted: Wanted, signal: AbortSignal): Promise<Reader | null> {
  const { at, length, fileBytes } = wanted;
  const end = at + length - 1;
  const range = fileBytes === null ? null : `bytes=${at}-${end}`;
  const response = await fetched(wanted, range, signal);
  const { status, headers, body } = response;
  const isRange = status === 206 && range !== null;
  const said = headers.get('content-range')?.trim();
  try {
    const size = said?.replace(/^.*\//, '') ?? '';
    if ((isRange || status === 416) && /^\d+$/.test(size)) wanted.check?.(Number(size));
    // A page sees this header only if the other host exposes it (CORS). Lengths and checksums of
    // bodies are compared in any case.
    const fits = said?.startsWith(`bytes ${at}-${end}/`) ?? true;
    const mayBeAll = fileBytes === null || length === fileBytes;
    if (isRange ? !fits : status !== 200 || !mayBeAll) {
      throw refusal(response, wanted, `bytes ${at} to ${end}`);
    }
    return body?.getReader() ?? null;
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

/** Fetches a file, or a range of it; a connection that fails throws a Passing. */
async function fetched(
  file: WebFile,
  range: string | null,
  signal: AbortSignal,
): Promise<Response> {
  const headers = range === null ? file.headers : { ...file.headers, range };
  // Chromium's cache runs one request for a file at a time: 12 ranges take 1.4 s with it, 0.36 s
  // without.
  const cache = range === null ? 'no-cache' : 'no-store';
  try {
    return await fetch(file.url, { headers, cache, signal });
  } catch (cause) {
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

/** Reads a body; null if it has more than `max` bytes, none of which are kept. */
async function bodyOf(
  reader: Reader | null,
  max: number,
  progressed: () => void,
): Promise<Uint8Array | null> {
  const pieces: Uint8Array[] = [];
  for (let length = 0; reader !== null; ) {
    progressed();
    const piece = await pieceOf(reader, Math.min(PROGRESS_BYTES, max - length + 1));
    length += piece.length;
    if (length > max) {
      await reader.cancel();
      return null;
    }
    if (piece.length === 0) break;
    pieces.push(piece);
  }
  return pieces.length === 1 ? pieces[0] : concatenated(pieces);
}
