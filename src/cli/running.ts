/** A verb's call, at work: typed options, talk, and outputs that are discarded when it fails. */

import type { RowReader, RowWriter } from '../node';
import type { Call, InputOptions, LongWork, Progress, RowsOptions } from './call';
import { CommandError } from './errors';
import { openInput } from './input/rows-in';
import type { Talk } from './output/progress';
import { openOutput } from './output/rows-out';
import { type Parsed, parse } from './parse';
import { COMMON_OPTIONS } from './shared-options';
import type { Option, Verb } from './verb';

export interface Surroundings {
  readonly talk: Talk;
  readonly signal: AbortSignal;
}

/** The call of a verb by the words that follow its name. */
export function callOf(
  verb: Verb,
  { words, ...surroundings }: Surroundings & { readonly words: readonly string[] },
): RunningCall {
  const options = [...verb.options, ...COMMON_OPTIONS];
  return new RunningCall(options, parse(words, options), surroundings);
}

export class RunningCall implements Call {
  readonly args: readonly string[];
  readonly signal: AbortSignal;
  readonly isTerminal = process.stdout.isTTY === true;
  readonly #options: ReadonlyMap<string, Option>;
  readonly #given: Parsed['given'];
  readonly #talk: Talk;
  readonly #writers: RowWriter[] = [];
  readonly #readers: RowReader[] = [];

  constructor(options: readonly Option[], parsed: Parsed, { talk, signal }: Surroundings) {
    this.args = parsed.args;
    this.signal = signal;
    this.#options = new Map(options.map((option) => [option.name, option]));
    this.#given = parsed.given;
    this.#talk = talk;
  }

  get isJson(): boolean {
    return this.has('json');
  }

  has(name: string): boolean {
    return this.#given.has(name);
  }

  text(name: string): string | undefined {
    return this.#given.get(name)?.at(-1) ?? this.#options.get(name)?.initial;
  }

  number(name: string): number | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : Number(text);
  }

  integer(name: string): number | undefined {
    return this.number(name);
  }

  flag(name: string): boolean {
    return this.has(name);
  }

  list(name: string): readonly string[] {
    const initial = this.#options.get(name)?.initial?.split(',');
    return this.#given.get(name) ?? initial ?? [];
  }

  say(sentence: string): void {
    this.#talk.say(sentence);
  }

  progress(label: string, total: number | null, unit?: 'rows' | 'bytes'): Progress {
    return this.#talk.progress(label, total, unit);
  }

  async long<T>(label: string, work: (call: LongWork) => Promise<T>): Promise<T> {
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
  }

  print(text: string): Promise<void> {
    this.#talk.clear();
    return new Promise((resolve, reject) => {
      process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
    });
  }

  onlyInput(): string {
    const [input, ...others] = this.args;
    if (input === undefined) this.misuse('an input is missing: a file, or - for stdin');
    if (others.length > 0) this.misuse(`expected one input, got also ${others.join(' ')}`);
    return input;
  }

  async input(path: string | undefined, options?: InputOptions): Promise<RowReader> {
    const reader = await openInput(this, path, options);
    this.#readers.push(reader);
    return reader;
  }

  async rows(
    target: string | undefined,
    inputs: readonly string[],
    options?: RowsOptions,
  ): Promise<RowWriter> {
    const writer = await openOutput(this, target, { inputs, ...options });
    this.#writers.push(writer);
    return writer;
  }

  /** Closes what is open; outputs that were not closed by the verb are discarded. */
  async cleanUp(): Promise<void> {
    for (const reader of this.#readers) await reader.close().catch(() => undefined);
    for (const writer of this.#writers) await writer.abort().catch(() => undefined);
  }

  fail(message: string): never {
    throw new CommandError(message, 1);
  }

  misuse(message: string): never {
    throw new CommandError(message, 2);
  }
}
