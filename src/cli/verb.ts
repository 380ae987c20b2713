/**
 * A verb of the command as data: its name, options and example, and where its code is. Parsing,
 * checks, help and completion read this declaration only, so they load no code of a verb.
 */

import type { Call } from './call';
import type { Option } from './options';

/** Does the work; resolves with the exit code, 1 where the condition looked for is found. */
export type Run = (call: Call, verbs: readonly Verb[]) => Promise<0 | 1>;

export interface Verb {
  readonly name: string;
  readonly summary: string;
  /** The arguments: `IN -o OUT`. */
  readonly usage: string;
  readonly options: readonly Option[];
  /** A whole command line that works on the data of this repository. */
  readonly example: string;
  /** Loads the code. */
  load(): Promise<{ readonly run: Run }>;
}
