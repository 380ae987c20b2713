/**
 * What the command says on stderr: errors, each as one sentence that says what is wrong and what to
 * do, messages, and progress. Of a system error the sentence has the path that the user typed.
 */

import { durationText, printable } from './output/figures';

/**
 * Ends the command: the message is what the user reads. Exit code 1 is a failure, 2 a wrong
 * command line.
 */
export class CommandError extends Error {
  override readonly name = 'CommandError';

  constructor(
    message: string,
    readonly exitCode: 1 | 2,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

const NOT_PERMITTED = 'not permitted, see its owner and mode';

/** What the system's error codes say of the path that the user typed. */
const SYSTEM: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EACCES: NOT_PERMITTED,
  EPERM: NOT_PERMITTED,
  EROFS: 'on a read-only file system',
  EISDIR: 'a folder, where a file is expected',
  ENOTDIR: 'a file, where a folder is expected',
  EEXIST: 'exists already; --force replaces it',
  ENOSPC: 'no space left on the device',
  EFBIG: 'larger than its file system or a limit of this process allows',
  EMFILE: 'too many open files',
  ENAMETOOLONG: 'its name is too long for the file system',
  ELOOP: 'a link that leads back to itself',
};

/**
 * Any thrown value as one line: by its system code, else its message without line feeds. An error
 * of the system that has no path, as one of writing, is taken as one of `output`.
 */
export function sentenceOf(error: unknown, output = 'the output'): string {
  if (!(error instanceof Error)) return String(error);
  const { code, syscall, path, dest } = error as NodeJS.ErrnoException & { dest?: string };
  // Errors of this library may have a code of the system, but no `syscall`.
  const sentence = code !== undefined && syscall !== undefined && SYSTEM[code];
  // When an output is renamed into place, `path` is its temporary name and `dest` the output.
  if (sentence) return `${dest ?? path ?? output}: ${sentence}`;
  return error.message.trim().replaceAll(/\s*\n\s*/g, ' ') || error.name;
}

/**
 * Turns the library's error about an argument into a misuse of the option that set it:
 * `"maxDistance" expected …` becomes `--max-distance expected …`. Undefined for other errors, and
 * where no option of that name is on the command line.
 */
export function misuseOf(
  error: unknown,
  call: { has(option: string): boolean },
): CommandError | undefined {
  if (!(error instanceof RangeError || error instanceof TypeError)) return undefined;
  const [, name, rest] = /^"(\w+)" (expected .*)$/s.exec(error.message) ?? [];
  // The option that sets a field of the library: `max-distance` for `maxDistance`.
  const option = (name ?? '').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  if (!call.has(option)) return undefined;
  return new CommandError(`--${option} ${rest}`, 2, { cause: error });
}

/** True if the program that reads stdout has ended, as `head` does after its lines. */
export function isClosedPipe(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: string };
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED';
}

export function misuse(message: string): CommandError {
  return new CommandError(message, 2);
}

/** Least time between two drawings of the line. */
const REDRAW_MILLISECONDS = 100;
/** Time before the first drawing: shorter work shows no line. */
const FIRST_MILLISECONDS = 250;

/** A stream of the command's output; a terminal has `isTTY` and `columns`. */
export interface Output extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/**
 * Writes everything that goes to stderr, so that messages and the line of progress do not mix. The
 * line has the share and the time left; it is drawn at most ten times a second, and removed when
 * the work ends or a message is written. Messages contain names and ids of the user's files, so
 * characters that a terminal would obey are replaced.
 */
export class Talk {
  #isLineThere = false;
  /**
   * Also called at each report of progress with the share done, 0..1, and with '' and null at the
   * end of the work.
   */
  onProgress: ((label: string, share: number | null) => void) | null = null;

  constructor(
    private readonly stream: Output,
    private readonly isQuiet: boolean,
  ) {}

  /** Writes a message on its own line; nothing with `--quiet`. */
  say(sentence: string): void {
    if (!this.isQuiet) this.error(sentence);
  }

  /** Writes a message, also with `--quiet`. */
  error(sentence: string): void {
    this.clear();
    this.stream.write(`${printable(sentence)}\n`);
  }

  /** Removes the line of progress; the next `at` draws it again. */
  clear(): void {
    if (this.#isLineThere) this.stream.write('\r\x1b[K');
    this.#isLineThere = false;
  }

  /**
   * A line of progress. It is not drawn with `--quiet`, nor where the stream is no terminal, or one
   * without control sequences (TERM=dumb).
   */
  progress(label: string) {
    const isShown = this.stream.isTTY === true && !this.isQuiet && process.env.TERM !== 'dumb';
    const start = performance.now();
    // The time of the last drawing, set so that the first one comes after FIRST_MILLISECONDS.
    let drawn = start + FIRST_MILLISECONDS - REDRAW_MILLISECONDS;
    return {
      /** Reports how many are done in all, not since the last call. */
      at: (done: number, total: number) => {
        this.onProgress?.(label, shareOf(done, total));
        const now = performance.now();
        if (!isShown || now - drawn < REDRAW_MILLISECONDS) return;
        drawn = now;
        const line = progressLine(label, { done, total, seconds: (now - start) / 1000 });
        // A longer line than the terminal is cut, not wrapped.
        const width = (this.stream.columns || 80) - 1;
        this.stream.write(`\r\x1b[K${printable(line).slice(0, width)}`);
        this.#isLineThere = true;
      },
      end: () => {
        this.onProgress?.('', null);
        this.clear();
      },
    };
  }
}

const shareOf = (done: number, total: number) => Math.min(1, done / Math.max(1, total));

/** `reading docs.jsonl  45 %  3.1 s left`. */
export function progressLine(
  label: string,
  { done, total, seconds }: { done: number; total: number; seconds: number },
): string {
  const share = shareOf(done, total);
  const left = share > 0 ? `  ${durationText((seconds * (1 - share)) / share)} left` : '';
  return `${label}  ${Math.floor(100 * share)} %${left}`;
}
