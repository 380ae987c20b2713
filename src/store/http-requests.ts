/**
 * Requests a range of a file, or a whole file, from a web host by `fetch`. At most six requests run
 * at a time for each host. Failures that may be temporary (a lost connection, 408, 429, 5xx, a body
 * that ends early) are tried again after growing waits. The result has the length of the range, and
 * its headers do not contradict the range; every other answer throws an error with the address. A
 * host that neither answers nor sends 1 MiB, or what is left, within a limit of time is given up.
 */

import { FormatError } from '../base/format-error';
import { checkFileSize } from '../table/sealed/file-checksum';
import { type ByteRange, IS_MISSING } from './place';

/** Requests to one host that run at once: as many as browsers allow over HTTP/1.1. */
const PARALLEL = 6;
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

/**
 * What to request: a range of a file of `fileBytes` bytes, or, if that is null, a whole file of at
 * most `length` bytes.
 */
export interface Wanted extends ByteRange {
  readonly url: URL;
  /** The name of the file in errors. */
  readonly path: string;
  readonly fileBytes: number | null;
  /** The limit of time without progress. */
  readonly timeoutMs: number;
}

/** Thrown if the host does not have the file. */
export class MissingError extends FormatError {}

/** Returns the wanted bytes after at most TRIES tries. Rejects as soon as the signal is aborted. */
export async function bytesOf(wanted: Wanted, signal: AbortSignal): Promise<Uint8Array> {
  const { host } = wanted.url;
  /** Milliseconds that were waited. */
  let waited = 0;
  for (let tries = 1; ; tries++) {
    const got = await inTurn(host, () => attempt(wanted, signal)).catch((error) => {
      if (error instanceof Passing) return error;
      throw error;
    });
    if (!(got instanceof Passing)) return got;
    const wait = Math.max(got.wait, FIRST_WAIT * 2 ** (tries - 1));
    waited += wait;
    if (tries === TRIES || waited > wanted.timeoutMs) throw got.error;
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

const aborts = new WeakMap<AbortSignal, Promise<never>>();

/** Rejects as soon as the signal is aborted: one listener, however many wait for it. */
function aborted(signal: AbortSignal): Promise<never> {
  const known = aborts.get(signal);
  if (known !== undefined) return known;
  const made = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  made.catch(() => undefined); // no call may wait for it when it comes
  aborts.set(signal, made);
  return made;
}

/** Waits for some milliseconds; rejects as soon as the signal is aborted. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let timer: ReturnType<typeof setTimeout>;
  const end = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  return Promise.race([end, aborted(signal)]).finally(() => clearTimeout(timer));
}

/** Tries a request once, as long as it makes progress. */
async function attempt(wanted: Wanted, signal: AbortSignal): Promise<Uint8Array> {
  signal.throwIfAborted();
  const { timeoutMs, path } = wanted;
  const own = new AbortController();
  const expire = () => {
    const what = `took more than ${timeoutMs / 1000} s for 1 MiB, or for what was left`;
    own.abort(new Error(`${path}: the host ${what}`));
  };
  let timer = setTimeout(expire, timeoutMs);
  const stop = () => own.abort(signal.reason);
  signal.addEventListener('abort', stop);
  try {
    return await answered(wanted, own.signal, () => {
      clearTimeout(timer);
      timer = setTimeout(expire, timeoutMs);
    });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

/** The bytes that one request brings. Throws a Passing if another try may succeed. */
async function answered(
  wanted: Wanted,
  signal: AbortSignal,
  progressed: () => void,
): Promise<Uint8Array> {
  const { path, at, length, fileBytes } = wanted;
  const isRange = fileBytes !== null;
  const reach = (what: string, cause: unknown) => {
    signal.throwIfAborted();
    const why = (cause as { cause?: Error }).cause?.message ?? (cause as Error).message;
    return new Passing(new Error(`${path}: ${what}: ${why}`, { cause }));
  };
  const response = await fetched(wanted, {
    ...(isRange && { headers: { range: `bytes=${at}-${at + length - 1}` } }),
    // Chromium's cache runs one request for a file at a time: 12 ranges take 1.4 s with it, 0.36 s
    // without.
    cache: isRange ? 'no-store' : 'no-cache',
    signal,
  }).catch((cause) => {
    if (cause instanceof FormatError) throw cause;
    const what = 'the host cannot be reached, or does not allow this page to read it (CORS)';
    throw reach(what, cause);
  });
  try {
    checkStatus(response, wanted);
    const bytes = await bodyOf(response, length, progressed).catch((cause) => {
      throw reach('the answer broke off', cause);
    });
    if (bytes === null) throw new FormatError(`damaged: more than ${length} bytes came`, path);
    if (!isRange || bytes.length === length) return bytes;
    const what = `cut short: ${bytes.length} bytes came of ${length} from byte ${at} on`;
    throw new Passing(new FormatError(what, path));
  } finally {
    await response.body?.cancel().catch(() => undefined); // of an answer that is not wanted
  }
}

/** `fetch` that goes to another address a few times at most. */
async function fetched({ url: first, path }: Wanted, init: RequestInit): Promise<Response> {
  let url = first;
  for (let left = MAX_REDIRECTS; ; left--) {
    const response = await fetch(url, { ...init, redirect: 'manual' });
    // A page is not told the other address; the browser limits how often it goes on.
    if (response.type === 'opaqueredirect') return fetch(url, init);
    const other = response.headers.get('location');
    if (!REDIRECTS.includes(response.status) || other === null) return response;
    await response.body?.cancel();
    if (left === 0) {
      throw new FormatError(`the host names another address ${MAX_REDIRECTS} times in a row`, path);
    }
    url = new URL(other, url);
  }
}

/** Throws if status or headers do not fit the wanted range. */
function checkStatus(response: Response, { path, at, length, fileBytes }: Wanted): void {
  const { status, statusText, headers } = response;
  if (status === 206 && fileBytes !== null) {
    // A page sees this header only if the other host exposes it (CORS). Lengths and checksums of
    // bodies are compared in any case.
    const said = headers.get('content-range');
    if (said === null) return;
    const [, first, last, size] = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(said.trim()) ?? [];
    if (size !== undefined && size !== '*') checkFileSize(Number(size), fileBytes, path);
    if (Number(first) === at && Number(last) === at + length - 1) return;
    const wanted = `bytes ${at} to ${at + length - 1} were asked for`;
    throw new FormatError(`${wanted}, the host answered "${said}"`, path);
  }
  if (status === 200 && (fileBytes === null || length === fileBytes)) return;
  if (status === 200) {
    const what = 'the host ignores range requests, it answered 200 with the whole file';
    throw new Error(`${path}: ${what}: publish the index on a host that answers them with 206`);
  }
  if (status === 404 || status === 410) {
    throw new MissingError(IS_MISSING, path);
  }
  if (status === 416) {
    const size = /^bytes \*\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1];
    if (size !== undefined) checkFileSize(Number(size), fileBytes ?? 0, path);
    throw new FormatError(`cut short: it ends before byte ${at}`, path);
  }
  const error = new Error(`${path}: the host answered ${`${status} ${statusText}`.trim()}`);
  if (status !== 408 && status !== 429 && status < 500) throw error;
  const after = Number(headers.get('retry-after')); // NaN of a date: then as without
  throw new Passing(error, after > 0 ? after * 1000 : 0);
}

/** Reads a body; null if it has more than `max` bytes, none of which are kept. */
async function bodyOf(
  response: Response,
  max: number,
  progressed: () => void,
): Promise<Uint8Array | null> {
  const reader = response.body?.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  progressed();
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
    const before = length;
    length += next.value.length;
    if (Math.floor(length / PROGRESS_BYTES) > Math.floor(before / PROGRESS_BYTES)) progressed();
    if (length > max) {
      await reader?.cancel();
      return null;
    }
    chunks.push(next.value);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
