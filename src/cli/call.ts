/**
 * A verb's declaration, and its call while it runs: the values of its options, messages and
 * progress for the user, the signal of Ctrl-C, and what must be closed when the verb has ended,
 * however it ends.
 */

import type { InStages } from '../base/steps';
import { CommandError } from './errors';
import type { Option } from './options';
import { printable } from './output/figures';
import type { Progress, Talk } from './output/progress';
import { type Parsed, parse } from './parse';

/** Does the work; resolves with the exit code, 1 where the condition looked for is found. */
export type Run = (call: Call, verbs: readonly Verb[]) => Promise<0 | 1>;

/** A verb as data: parsing, help and completion read it, and load no code of a verb. */
export interface Verb {
  readonly name: string;
  /** What it is for, in the list of all verbs. */
  readonly summary: string;
  /** The arguments: `IN -o OUT`. */
  readonly usage: string;
  readonly options: readonly Option[];
  /** A whole command line that works on the data of this repository. */
  readonly example: string;
  /** Loads the code. */
  load(): Promise<{ readonly run: Run }>;
}

/** What is of the whole process: one line of progress, and one Ctrl-C. */
interface Surroundings {
  readonly talk: Talk;
  readonly signal: AbortSignal;
}

/** What a verb gets: its words, and how it speaks to the user. */
export class Call {
  /** What is not an option: the inputs. */
  readonly args: readonly string[];
  /** Aborts at Ctrl-C; every long call must take it. */
  readonly signal: AbortSignal;
  /** Whether stdout is a terminal. */
  readonly isTerminal = process.stdout.isTTY === true;
  readonly #options: ReadonlyMap<string, Option>;
  readonly #given: Parsed['given'];
  readonly #talk: Talk;
  readonly #closing: (() => Promise<unknown>)[] = [];
  /** Sees progress besides the terminal; a share of null is not known. */
  onProgress: ((label: string, share: number | null) => void) | null = null;

  /** Parses the words that follow a verb's name; throws a misuse where they are wrong. */
  constructor(
    options: readonly Option[],
    words: readonly string[],
    { talk, signal }: Surroundings,
  ) {
    const { args, given } = parse(words, options);
    this.args = args;
    this.signal = signal;
    this.#options = new Map(options.map((option) => [option.name, option]));
    this.#given = given;
    this.#talk = talk;
  }

  /** True where the option is on the command line, whatever its initial value is. */
  has(name: string): boolean {
    return this.#given.has(name);
  }

  /** Whether results are for a machine: `--json`. */
  get isJson(): boolean {
    return this.has('json');
  }

  /** An option's value, or its initial one. */
  text(name: string): string | undefined {
    return this.#given.get(name)?.at(-1) ?? this.#options.get(name)?.initial;
  }

  /** The value of an option whose kind is `number` or `integer`, which parsing has checked. */
  number(name: string): number | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : Number(text);
  }

  /** All values of an option that may have several. */
  list(name: string): readonly string[] {
    const initial = this.#options.get(name)?.initial?.split(',');
    return this.#given.get(name) ?? initial ?? [];
  }

  /** The one input that a verb takes, or a misuse that says so. */
  onlyInput(): string {
    const [input, ...others] = this.args;
    if (input === undefined) this.misuse('an input is missing: a file, or - for stdin');
    if (others.length > 0) {
      const advice = "a folder or a pattern in quotes, as 'data/*.jsonl', is read as one";
      this.misuse(`expected one input, got also ${others.join(' ')}: ${advice}`);
    }
    return input;
  }

  /** A sentence on stderr, silent with `--quiet`: guesses and summaries. */
  say(sentence: string): void {
    this.#talk.say(sentence);
  }

  /** Text to stdout, on a terminal without what it would obey; resolves when it is written. */
  print(text: string): Promise<void> {
    return this.printStyled(this.isTerminal ? printable(text) : text);
  }

  /** The same of a text whose styles a terminal must obey. */
  printStyled(text: string): Promise<void> {
    this.#talk.clear();
    return new Promise((resolve, reject) => {
      process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** A line of progress on stderr, on a terminal only; a total of null is unknown. */
  progress(label: string, total: number | null, unit?: 'rows' | 'bytes'): Progress {
    const line = this.#talk.progress(label, total, unit);
    return {
      at: (done) => {
        line.at(done);
        this.onProgress?.(label, total ? Math.min(1, done / total) : null);
      },
      end: () => line.end(),
    };
  }

  /** Runs a long call of the library with its progress shown under a label. */
  readonly long: InStages = async (label, work) => {
    let progress: Progress | null = null;
    const onProgress = (done: number, total: number) => {
      progress ??= this.progress(label, total);
      progress.at(done);
    };
    try {
      return await work({ onProgress, signal: this.signal });
    } finally {
      (progress as Progress | null)?.end();
    }
  };

  /** Calls `close` when the verb has ended or failed; outputs not closed by then are discarded. */
  atEnd(close: () => Promise<unknown>): void {
    this.#closing.push(close);
  }

  /** Runs what `atEnd` was given; errors of it are not reported, the verb has its own. */
  async cleanUp(): Promise<void> {
    for (const close of this.#closing) await close().catch(() => undefined);
  }

  /** Ends with exit code 1 and a sentence that says what to do. */
  fail(message: string): never {
    throw new CommandError(message, 1);
  }

  /** Ends with exit code 2: the command line is wrong. */
  misuse(message: string): never {
    throw new CommandError(message, 2);
  }
}
