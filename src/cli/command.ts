/**
 * One run of the command: finds the verb, runs it, and gives an exit code: 0 fine, 1 failed or
 * condition found, 2 misuse, 3 bad data, 130 stopped by the signal, 141 its reader has gone. Loads
 * no more than the words ask for, so that help and --version answer at once. The process itself,
 * its signals and its end are in main.ts.
 */

import { FormatError, nearestName } from '../base/check';
import type { Call, Streams, Verb } from './call';
import { CommandError, isAbort, isClosedPipe, misuseOf, sentenceOf } from './errors';
import { Talk } from './output/progress';
import { COMMON_OPTIONS, VERBS } from './verbs';

/** The version of the package; the build replaces the name by it. */
declare const HALFSPACE_VERSION: string;

/** 128 and the number of the signal, as a shell reports it: SIGINT. */
export const STOPPED = 130;
/** The same of SIGPIPE, by which other programs end when their reader has gone. */
const CLOSED_PIPE = 141;
/** Rows or files that cannot be read: another try would fail too. */
const BAD_DATA = 3;

export class Command {
  readonly #talk: Talk;
  readonly #reported = new Set<string>();
  #running: Call | null = null;

  /** `words` are those after the name of the command. */
  constructor(
    private readonly words: readonly string[],
    private readonly streams: Streams,
  ) {
    const isQuiet = words.includes('--quiet') || words.includes('-q');
    this.#talk = new Talk(streams.stderr, isQuiet);
  }

  /** Resolves to the exit code, once what was opened is closed and what was printed is written. */
  async run(): Promise<number> {
    // A verb that finished in spite of a signal has done its work: its own exit code says so.
    const code = await this.#run().catch((error) => {
      const failed = this.exitCodeOf(error);
      return this.streams.signal.aborted ? STOPPED : failed;
    });
    await this.cleanUp();
    await this.#print('');
    return code;
  }

  /** Discards outputs that are not whole, and removes the line of progress. */
  async cleanUp(): Promise<void> {
    await this.#running?.cleanUp();
    this.#talk.clear();
  }

  /** The exit code of an error, which is reported unless it is no failure. */
  exitCodeOf(thrown: unknown): number {
    if (isClosedPipe(thrown)) return CLOSED_PIPE;
    const error = (this.#running && misuseOf(thrown, this.#running)) ?? thrown;
    const { signal } = this.streams;
    if (signal.aborted && (isAbort(error) || error === signal.reason)) return STOPPED;
    const sentence = sentenceOf(error, this.#running?.text('output'));
    // Several streams may report the same error.
    if (!this.#reported.has(sentence)) this.#talk.error(`halfspace: ${sentence}`);
    this.#reported.add(sentence);
    if (this.words.includes('--debug') && error instanceof Error) {
      this.#talk.error(String(error.stack));
    }
    if (error instanceof CommandError) return error.exitCode;
    return error instanceof FormatError ? BAD_DATA : 1;
  }

  /** Loads the code of one verb at most, and none for help. */
  async #run(): Promise<number> {
    const { words } = this;
    const asksHelp = ['help', '--help', '-h'].includes(words[0]);
    const isOfVerb = asksHelp && VERBS.some((verb) => verb.name === words[1]);
    const [name, ...rest] = isOfVerb ? [words[1], '--help'] : words;
    if (name === '--version') return this.#print(`${HALFSPACE_VERSION}\n`);
    if (name === undefined || (asksHelp && !isOfVerb)) {
      const { helpOfCommand } = await import('./help');
      await this.#print(helpOfCommand(VERBS));
      return name === undefined ? 2 : 0;
    }
    const verb = verbOf(name);
    if (rest.includes('--help') || rest.includes('-h')) {
      const { helpOfVerb } = await import('./help');
      return this.#print(helpOfVerb(verb));
    }
    return this.#runVerb(verb, rest);
  }

  async #runVerb(verb: Verb, words: readonly string[]): Promise<0 | 1> {
    const { Call } = await import('./call');
    const options = [...verb.options, ...COMMON_OPTIONS];
    const call = new Call({ ...verb, options }, words, this.streams, this.#talk);
    this.#running = call;
    // What the library's calls read where they are given no number.
    const threads = call.text('threads');
    if (threads !== undefined) process.env.HALFSPACE_THREADS = threads;
    return (await verb.load()).run(call, async ([name, ...rest]) => {
      const code = await this.#runVerb(verbOf(name), rest);
      await this.#running?.cleanUp();
      return code;
    });
  }

  async #print(text: string): Promise<0> {
    await new Promise((resolve) => this.streams.stdout.write(text, resolve));
    return 0;
  }
}

/** The verb of a name; throws a misuse that suggests the nearest one where there is none. */
function verbOf(name: string): Verb {
  const verb = VERBS.find((one) => one.name === name);
  if (verb !== undefined) return verb;
  const names = VERBS.map((verb) => verb.name);
  const nearest = nearestName(name, names);
  const hint = nearest === null ? `the verbs are ${names.join(', ')}` : `did you mean ${nearest}?`;
  throw new CommandError(`no verb "${name}", ${hint}`, 2);
}
