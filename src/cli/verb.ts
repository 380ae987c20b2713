/** What a verb of the command is: its options and its work, told apart from how it is called. */

import type { Call } from './call';

export interface Option {
  /** The long name, without dashes: `max-distance`. */
  readonly name: string;
  /** One letter. */
  readonly short?: string;
  /** What stands for its value in the help, as `N`, `COLUMN` or `FILE`; a flag has none. */
  readonly value?: string;
  /** A list is given by commas, or by the option again. */
  readonly kind?: 'integer' | 'number' | 'text' | 'list';
  readonly choices?: readonly string[];
  /** The value where none is given; shown in the help. */
  readonly initial?: string;
  readonly help: string;
}

export interface Verb {
  readonly name: string;
  readonly summary: string;
  /** The arguments: `IN -o OUT`. */
  readonly usage: string;
  readonly options: readonly Option[];
  /** A whole command line that works on the data of this repository. */
  readonly example: string;
  /** Resolves with the exit code: 0, or 1 where the condition that was looked for is found. */
  run(call: Call): Promise<0 | 1>;
}

/** A verb's place in the list of all, its code not loaded yet. */
export interface VerbEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<{ readonly verb: Verb }>;
}
