/**
 * Messages and progress on stderr. Progress is one line with the share and the time left;
 * it is drawn at most ten times a second, and removed when the work ends or a message is written.
 * Messages contain names and ids of the user's files, so characters that a terminal would obey are
 * replaced in all that is written here.
 */

import { durationText, printable } from './figures';

export interface Progress {
  /** Reports how many are done in all, not since the last call. */
  at(done: number): void;
  end(): void;
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

/** Writes everything that goes to stderr, so that messages and the line of progress do not mix. */
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
  progress(label: string, total: number): Progress {
    const isShown = this.stream.isTTY === true && !this.isQuiet && process.env.TERM !== 'dumb';
    const start = performance.now();
    // The time of the last drawing, set so that the first one comes after FIRST_MILLISECONDS.
    let drawn = start + FIRST_MILLISECONDS - REDRAW_MILLISECONDS;
    return {
      at: (done) => {
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
