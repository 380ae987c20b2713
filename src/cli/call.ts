/**
 * A verb as data (`Verb`), and one run of it (`Call`): the values of its options, its messages and
 * progress, the signal of Ctrl-C, and the outputs to close when the verb ends or fails.
 */

import type { Readable } from 'node:stream';
import { parseBytes } from '../base/check';
import type { InStages } from '../base/long-work';
import type { FileStates } from '../formats/web-source';
import { checkTogether, type Option, type Parsed, parse, type Together } from './options';
import { printable } from './output/figures';
import { CommandError, misuse, type Output, type Talk } from './talk';

/**
 * The code of a verb. Resolves to exit code 0, or to 1 where a check found what it looks for, as
 * damage by `verify`; failures are thrown.
 */
export type Run = (call: Call, runVerb: RunVerb) => Promise<0 | 1>;

/** Runs another verb, whose name is the first word, as a part of this run. */
export type RunVerb = (words: readonly string[]) => Promise<0 | 1>;

/** A verb as data. Parsing and help read this alone, without loading verbs' code. */
export interface Verb extends Together {
  readonly name: string;
  /** What it is for: a line of `halfspace --help`. */
  readonly summary: string;
  /** The arguments as the help shows them: `IN -o OUT`. */
  readonly usage: string;
  readonly options: readonly Option[];
  /** The options that are used most, at most ten names with blanks between: the help's first. */
  readonly first?: string;
  /** A complete command line that works on `datasets/`; `test/cli/examples.test.ts` runs it. */
  readonly example: string;
  /** Loads its code. */
  load(): Promise<Run>;
}

export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Output;
  readonly stderr: Output;
  readonly signal: AbortSignal;
}

/** One run of a verb: what its command line says, and its way to stdout and stderr. */
export class Call {
  /** Arguments that are not options, in their order: for most verbs the inputs. */
  readonly args: readonly string[];
  /** Aborts at SIGINT (Ctrl-C), SIGTERM and SIGHUP; every long call must take it. */
  readonly signal: AbortSignal;
  readonly isTerminal: boolean;
  /** The files on hosts that were read: one that has changed at a later reading is an error. */
  readonly fileStates: FileStates = new Map();
  readonly stdin: Streams['stdin'];
  readonly stdout: Streams['stdout'];
  readonly #options: ReadonlyMap<string, Option>;
  readonly #given: Parsed['given'];
  /** What `atEnd` registered; `cleanUp` calls it in that order. */
  readonly #closing: (() => Promise<unknown>)[] = [];
  /** Parses the words after the verb's name; throws a misuse (exit code 2) where one is wrong. */
  constructor(
    { options, ...together }: Pick<Verb, 'options' | 'needs' | 'excludes'>,
    words: readonly string[],
    { stdin, stdout, signal }: Streams,
    readonly talk: Talk,
  ) {
    const { args, given } = parse(words, options);
    checkTogether(given, together);
    this.args = args;
    this.signal = signal;
    this.#options = new Map(options.map((option) => [option.name, option]));
    this.#given = given;
    this.stdin = stdin;
    this.stdout = stdout;
    this.isTerminal = stdout.isTTY === true;
  }

  /** True if the option is on the command line; an initial value does not count. */
  has(name: string): boolean {
    return this.#given.has(name);
  }

  /** True if the verb has this option. */
  takes(name: string): boolean {
    return this.#options.has(name);
  }

  /** All values of an option, in order; else its initial value; else none. */
  list(name: string): readonly string[] {
    const initial = this.#options.get(name)?.initial;
    return this.#given.get(name) ?? (initial === undefined ? [] : [initial]);
  }

  /** The option's value, of several the last; else its initial value; else undefined. */
  text(name: string): string | undefined {
    return this.list(name).at(-1);
  }

  /**
   * As `text`, as a number: for options of kind `number`, `integer` or `size` (in bytes), which
   * `parse` checks.
   */
  number(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const isSize = this.#options.get(name)?.kind === 'size';
    return isSize ? (parseBytes(text) ?? undefined) : Number(text);
  }

  /** The only argument; throws a misuse if there is none, or more than one. */
  onlyInput(): string {
    const [input, ...others] = this.args;
    if (input === undefined) this.misuse('an input is missing: a file, or - for stdin');
    if (others.length > 0) {
      const advice = "a folder or a pattern in quotes, as 'data/*.jsonl', is read as one";
      this.misuse(`expected one input, got also ${others.join(' ')}: ${advice}`);
    }
    return input;
  }

  /** Writes a sentence to stderr, unless `--quiet` is given: guesses and summaries. */
  say(sentence: string): void {
    this.talk.say(sentence);
  }

  /**
   * Writes text to stdout; resolves when it is written. On a terminal, characters that it would
   * obey are replaced (`printable`); files and pipes get the text as it is.
   */
  print(text: string): Promise<void> {
    this.talk.clear();
    return new Promise((resolve, reject) => {
      const shown = this.isTerminal ? printable(text) : text;
      this.stdout.write(shown, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Runs a long call of the library; shows its progress under `label`, and stops it by Ctrl-C. */
  readonly long: InStages = async (label, work) => {
    const line = this.talk.progress(label);
    try {
      return await work({ onProgress: line.at, signal: this.signal });
    } finally {
      line.end();
    }
  };

  /** Calls `close` when the verb ends or fails. Outputs that are unfinished then are discarded. */
  atEnd(close: () => Promise<unknown>): void {
    this.#closing.push(close);
  }

  /** Calls what `atEnd` registered. Ignores errors, so that the verb's own error is reported. */
  async cleanUp(): Promise<void> {
    for (const close of this.#closing) await close().catch(() => undefined);
  }

  /** Throws the error that ends the command with exit code 1; `message` says what to do. */
  fail(message: string): never {
    throw new CommandError(message, 1);
  }

  /** Throws the error that ends the command with exit code 2: the command line is wrong. */
  misuse(message: string): never {
    throw misuse(message);
  }
}
