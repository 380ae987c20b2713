/**
 * Threads that read many small ranges of a file one after another. A read by the event loop takes
 * some 20 microseconds of processor time, one after another 2, and several threads keep a disk
 * busy. They start when they are first needed, stay, and do not keep the program running.
 */

import { type Host, startHost } from '../threads/host';
import { whenThreadsClose } from '../threads/pool';
import type { ByteRange } from './place';
import type { ReadBuffers } from './read-buffers';

/** As many as Node's own threads for files. */
const THREADS = 4;
/** A thread is asked for at least so many ranges: a message costs as much as two reads. */
const RANGES_A_THREAD = 4;
/** Above this average length the bytes decide how long a read takes, so threads gain nothing. */
const MAX_MEAN_BYTES = 2 ** 20;
/** Each range begins at a multiple of so many bytes of its buffer. */
const ALIGNMENT = 64;

/** Reads until a range is full or the file ends; replies with all bytes, and where it ended. */
const SCRIPT = `
const { parentPort } = require('node:worker_threads');
const { readSync } = require('node:fs');
parentPort.on('message', ({ number, fd, at, lengths, places, bytes }) => {
  const filled = lengths.map(() => 0);
  try {
    for (let i = 0; i < at.length; i++) {
      while (filled[i] < lengths[i]) {
        const left = lengths[i] - filled[i];
        const count = readSync(fd, bytes, places[i] + filled[i], left, at[i] + filled[i]);
        if (count === 0) break;
        filled[i] += count;
      }
    }
    parentPort.postMessage({ number, bytes, filled }, [bytes.buffer]);
  } catch ({ message, code }) {
    parentPort.postMessage({ number, error: { message, code } });
  }
});`;

interface Reply {
  readonly number: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly filled: Float64Array;
  readonly error?: { readonly message: string; readonly code: string };
}

/** Whether so many ranges are read by threads. */
export function readsByThreads(ranges: readonly ByteRange[]): boolean {
  if (isForbidden || ranges.length < RANGES_A_THREAD) return false;
  const bytes = ranges.reduce((sum, { length }) => sum + length, 0);
  return bytes <= MAX_MEAN_BYTES * ranges.length;
}

/**
 * The bytes of each range, fewer where the file ends within it; null where a thread could not
 * start, or ended: nothing is lost, and other means can read. The file must stay open.
 */
export async function readByThreads(
  fd: number,
  ranges: readonly ByteRange[],
  buffers: ReadBuffers,
): Promise<Uint8Array<ArrayBuffer>[] | null> {
  const count = Math.min(THREADS, Math.floor(ranges.length / RANGES_A_THREAD));
  const each = Math.ceil(ranges.length / count);
  const asked = Array.from({ length: count }, (_, i) => {
    const own = ranges.slice(i * each, (i + 1) * each);
    return threadOf(i)?.read(fd, own, buffers) ?? null;
  });
  const read = await Promise.all(asked);
  return read.includes(null) ? null : read.flatMap((own) => own ?? []);
}

class ReadThread {
  readonly #host: Host;
  readonly #waiting = new Map<number, (reply: Reply | null) => void>();
  #last = 0;
  #hasReplied = false;
  #isEnded = false;

  constructor(onEnd: (thread: ReadThread) => void) {
    this.#host = startHost(SCRIPT, {
      onMessage: (message) => this.#take(message as Reply),
      onEnd: () => {
        // A thread that never replied could not start, unless it was ended at once.
        if (!this.#hasReplied && !this.#isEnded) isForbidden = true;
        onEnd(this);
        for (const reply of this.#waiting.values()) reply(null);
        this.#waiting.clear();
      },
    });
  }

  #take(reply: Reply): void {
    this.#hasReplied = true;
    this.#waiting.get(reply.number)?.(reply);
    this.#waiting.delete(reply.number);
    if (this.#waiting.size === 0) this.#host.hold(false);
  }

  async read(
    fd: number,
    ranges: readonly ByteRange[],
    buffers: ReadBuffers,
  ): Promise<Uint8Array<ArrayBuffer>[] | null> {
    const number = ++this.#last;
    const [at, lengths, places] = [0, 1, 2].map(() => new Float64Array(ranges.length));
    let total = 0;
    for (const [i, range] of ranges.entries()) {
      [at[i], lengths[i], places[i]] = [range.at, range.length, total];
      total = ALIGNMENT * Math.ceil((total + range.length) / ALIGNMENT);
    }
    const space = buffers.take(total);
    const reply = await new Promise<Reply | null>((resolve) => {
      this.#host.post({ number, fd, at, lengths, places, bytes: space }, [space.buffer]);
      if (this.#waiting.size === 0) this.#host.hold(true);
      this.#waiting.set(number, resolve);
    });
    if (reply === null) return null;
    const { bytes, filled, error } = reply;
    if (error !== undefined) throw Object.assign(new Error(error.message), { code: error.code });
    buffers.lend(bytes.buffer);
    return ranges.map((_, i) => bytes.subarray(places[i], places[i] + filled[i]));
  }

  end(): Promise<unknown> {
    this.#isEnded = true;
    return this.#host.end();
  }
}

const threads: (ReadThread | undefined)[] = [];
/** True after a thread could not start. */
let isForbidden = false;

function threadOf(i: number): ReadThread | null {
  if (threads.length === 0) whenThreadsClose(endThreads);
  try {
    threads[i] ??= new ReadThread((ended) => {
      if (threads[i] === ended) threads[i] = undefined;
    });
    return threads[i];
  } catch {
    isForbidden = true;
    return null;
  }
}

function endThreads(): Promise<unknown> {
  return Promise.all(threads.map((thread) => thread?.end()));
}
