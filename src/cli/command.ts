/**
 * One run of the command: finds the verb, runs it, and gives an exit code: 0 fine, 1 failed or
 * condition found, 2 misuse, 3 bad data, 130 stopped by the signal, 141 its reader has gone. Also
 * the texts of `--help`. Loads the code of one verb at most, so that help and --version answer at
 * once. The process itself, its signals and its end are in main.ts.
 */

import { ChangedError, FormatError, nearestName } from '../base/check';
import type { Call, Streams, Verb } from './call';
import type { Option } from './options';
import { wrapped } from './output/figures';
import { CommandError, isClosedPipe, misuseOf, sentenceOf, Talk } from './talk';
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
    const isAbort =
      error === signal.reason || (error instanceof Error && error.name === 'AbortError');
    if (signal.aborted && isAbort) return STOPPED;
    const call = this.#running;
    // `index` without -o writes to the folder that it is given; other verbs to stdout.
    const written = call?.text('output') ?? (call?.takes('remove') ? call.args[0] : undefined);
    const sentence = sentenceOf(error, written);
    // Several streams may report the same error.
    if (!this.#reported.has(sentence)) this.#talk.error(`halfspace: ${sentence}`);
    this.#reported.add(sentence);
    if (this.words.includes('--debug') && error instanceof Error) {
      this.#talk.error(String(error.stack));
    }
    if (error instanceof CommandError) return error.exitCode;
    return error instanceof FormatError && !(error instanceof ChangedError) ? BAD_DATA : 1;
  }

  /** Loads the code of one verb at most, and none for help. */
  async #run(): Promise<number> {
    const { words } = this;
    const asksHelp = ['help', '--help', '-h'].includes(words[0]);
    const isOfVerb = asksHelp && VERBS.some((verb) => verb.name === words[1]);
    const [name, ...rest] = isOfVerb ? [words[1], '--help'] : words;
    if (name === '--version') return this.#print(`${HALFSPACE_VERSION}\n`);
    if (name === undefined || (asksHelp && !isOfVerb)) {
      await this.#print(helpOfCommand());
      return name === undefined ? 2 : 0;
    }
    const verb = verbOf(name);
    if (rest.includes('--help') || rest.includes('-h')) return this.#print(helpOfVerb(verb));
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
    const run = await verb.load();
    return run(call, async ([name, ...rest]) => {
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

/** The help of the command; like that of a verb it is at most 100 columns wide. */
function helpOfCommand(): string {
  const width = Math.max(...VERBS.map(({ name }) => name.length));
  const verbs = VERBS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return `halfspace VERB …: short binary codes of vectors and texts, and what is near what

${verbs.join('\n')}

halfspace VERB --help shows the options of a verb, halfspace --version the version.
`;
}

/**
 * The usage, the options and an example of a verb: first the options that are used most, the others
 * under "More", at last those that all verbs have.
 */
function helpOfVerb({ name, summary, usage, options, first, example }: Verb): string {
  const all = [...options, ...COMMON_OPTIONS].filter(({ isHidden }) => !isHidden);
  const width = Math.max(...all.map((option) => spelled(option).length));
  const linesOf = (some: readonly Option[]) =>
    some.map((one) => optionLines(one, width)).join('\n');
  const names = first?.split(' ') ?? all.map((one) => one.name);
  const shown = names.flatMap((one) => all.filter((option) => option.name === one));
  const more = all.filter((option) => !shown.includes(option));
  // Title and usage may take several lines; each command of an example has its own line.
  const title = wrapped(`halfspace ${name}: ${summary}`, 98);
  return `${title.join('\n')}

Usage:
  ${wrapped(`halfspace ${name} ${usage}`.trimEnd(), 96).join('\n    ')}

Options:
${linesOf(shown)}
${more.length === 0 ? '' : `\nMore:\n${linesOf(more)}\n`}
Example:
  ${example.replaceAll(' && ', ' &&\n  ')}
`;
}

/** An option with its help, which begins behind `width` columns of names. */
function optionLines(option: Option, width: number): string {
  // Two blanks before a name and two after it leave 96 - width of 100 columns.
  const [first, ...others] = wrapped(described(option), 96 - width);
  const further = others.map((line) => ' '.repeat(width + 4) + line);
  return [`  ${spelled(option).padEnd(width)}  ${first}`, ...further].join('\n');
}

/** `-k, --k N`; without a short name four blanks in its place, so that long names align. */
function spelled({ name, short, value }: Option): string {
  const shown = short === undefined ? '    ' : `-${short}, `;
  return `${shown}--${name}${value === undefined ? '' : ` ${value}`}`;
}

/** The help text, the choices unless the text names them all, and `[initial value]`. */
function described({ help, choices, initial }: Option): string {
  const isNamed = choices?.every((choice) => help.includes(choice)) ?? true;
  const all = isNamed ? '' : `: ${choices?.join(', ')}`;
  return `${help}${all}${initial === undefined ? '' : ` [${initial}]`}`;
}
