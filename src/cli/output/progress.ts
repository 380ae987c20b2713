/**
 * Messages and progress on stderr. Progress is one line with the rate, the share and the time left,
 * drawn again a few times a second and removed when the work has ended; sentences go above it.
 * Names and ids of the user's files pass through here, so no control character reaches the
 * terminal.
 */

import { bytesText, durationText, grouped, printable, rateText } from './figures';

/** A line of progress for one piece of work. */
export interface Progress {
  /** So many are done, since the beginning. */
  at(done: number): void;
  end(): void;
}

/** The line is drawn at most so often. */
const REDRAW_MILLISECONDS = 100;
/** Work that ends sooner shows no line. */
const FIRST_MILLISECONDS = 250;

/** Where messages go; `isQuiet` leaves out all but errors. */
interface TalkOptions {
  readonly stream: NodeJS.WriteStream;
  readonly isQuiet: boolean;
}

/** All that goes to stderr, so that sentences and the line of progress do not mix. */
export class Talk {
  readonly #stream: NodeJS.WriteStream;
  readonly #isQuiet: boolean;
  readonly #showsProgress: boolean;
  #isLineThere = false;

  constructor({ stream, isQuiet }: TalkOptions) {
    this.#stream = stream;
    this.#isQuiet = isQuiet;
    this.#showsProgress = stream.isTTY === true && !isQuiet && process.env.TERM !== 'dumb';
  }

  say(sentence: string): void {
    if (!this.#isQuiet) this.error(sentence);
  }

  /** A sentence that `--quiet` does not silence. */
  error(sentence: string): void {
    this.clear();
    this.#stream.write(`${printable(sentence)}\n`);
  }

  /** Removes the line of progress; the next `at` draws it again. */
  clear(): void {
    if (this.#isLineThere) this.#stream.write('\r\x1b[K');
    this.#isLineThere = false;
  }

  progress(label: string, total: number | null, unit: 'rows' | 'bytes' = 'rows'): Progress {
    if (!this.#showsProgress) return { at: () => undefined, end: () => undefined };
    const start = performance.now();
    let drawn = start + FIRST_MILLISECONDS - REDRAW_MILLISECONDS;
    return {
      at: (done) => {
        const now = performance.now();
        if (now - drawn < REDRAW_MILLISECONDS) return;
        drawn = now;
        this.#draw(progressLine({ label, done, total, unit, seconds: (now - start) / 1000 }));
      },
      end: () => this.clear(),
    };
  }

  #draw(line: string): void {
    const width = (this.#stream.columns || 80) - 1;
    this.#stream.write(`\r\x1b[K${printable(line).slice(0, width)}`);
    this.#isLineThere = true;
  }
}

/** How far some work is; a total of null is not known. */
interface ProgressState {
  readonly label: string;
  readonly done: number;
  readonly total: number | null;
  readonly unit: 'rows' | 'bytes';
  readonly seconds: number;
}

/** `reading  45 %  1.2 M rows/s  153,216 of 340,479 rows  3.1 s left` */
export function progressLine({ label, done, total, unit, seconds }: ProgressState): string {
  const isBytes = unit === 'bytes';
  const figure = isBytes ? bytesText : grouped;
  const rate = seconds > 0 ? done / seconds : 0;
  const speed = isBytes ? `${bytesText(rate)}/s` : `${rateText(rate)} rows/s`;
  const noun = isBytes ? '' : ' rows';
  if (total === null || total <= 0) return `${label}  ${figure(done)}${noun}  ${speed}`;
  const share = Math.min(1, done / total);
  const left = rate > 0 ? `  ${durationText(Math.max(0, total - done) / rate)} left` : '';
  const percent = `${Math.floor(100 * share)} %`;
  return `${label}  ${percent}  ${speed}  ${figure(done)} of ${figure(total)}${noun}${left}`;
}
