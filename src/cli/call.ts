/** What a running verb is given: its options, where rows come from and go to, whom to talk to. */

import type { CodeHeader, RowReader, RowWriter } from '../node';

export interface Progress {
  /** So many are done, since the beginning. */
  at(done: number): void;
  end(): void;
}

export interface InputOptions {
  /** Read only these columns. */
  readonly columns?: readonly string[];
}

export interface Call {
  /** What is not an option: the inputs. */
  readonly args: readonly string[];
  /** An option's value, or its initial one. */
  text(name: string): string | undefined;
  integer(name: string): number | undefined;
  number(name: string): number | undefined;
  flag(name: string): boolean;
  list(name: string): readonly string[];
  /** True where the option is on the command line, whatever its initial value is. */
  has(name: string): boolean;

  /** Aborts at Ctrl-C; to be handed to every long call. */
  readonly signal: AbortSignal;
  /** Whether stdout is a terminal. */
  readonly isTerminal: boolean;
  /** Whether results are for a machine: `--json`. */
  readonly isJson: boolean;

  /** A sentence on stderr, silent with `--quiet`: guesses and summaries. */
  say(sentence: string): void;
  /** A line of progress on stderr, on a terminal only; a total of null is unknown. */
  progress(label: string, total: number | null, unit?: 'rows' | 'bytes'): Progress;
  /** `onProgress` and `signal` of a long call of the library, shown under a label. */
  long<T>(label: string, work: (call: LongWork) => Promise<T>): Promise<T>;
  /** Text to stdout; resolves when it is written. */
  print(text: string): Promise<void>;

  /** The one input that a verb takes, or a misuse that says so. */
  onlyInput(): string;
  /** Rows of a file, a folder, or of stdin for '-' or undefined; read with progress. */
  input(path: string | undefined, options?: InputOptions): Promise<RowReader>;
  /** Rows to a file, or to stdout for '-' or undefined; discarded unless it is closed. */
  rows(
    target: string | undefined,
    inputs: readonly string[],
    options?: RowsOptions,
  ): Promise<RowWriter>;

  /** Ends with exit code 1 and a sentence that says what to do. */
  fail(message: string): never;
  /** Ends with exit code 2: the command line is wrong. */
  misuse(message: string): never;
}

export interface RowsOptions {
  /** How the codes were made, which Arrow files tell. */
  readonly header?: CodeHeader;
}

export interface LongWork {
  readonly onProgress: (done: number, total: number) => void;
  readonly signal: AbortSignal;
}
