/**
 * The command `halfspace`: finds the verb, runs it, and ends with an exit code: 0 fine, 1 failed or
 * condition found, 2 misuse, 3 bad data, 130 stopped by Ctrl-C, 141 its reader has gone. Loads no
 * more than the words ask for, so that help and --version answer at once.
 */

import { FormatError } from '../base/format-error';
import { nearestName } from '../base/nearest-name';
import type { Call } from './call';
import { CommandError, isAbort, isClosedPipe, misuseOf, sentenceOf } from './errors';
import { Talk } from './output/progress';
import { VERBS } from './verbs';

/** The version of the package; the build replaces the name by it. */
declare const HALFSPACE_VERSION: string;

/** How long a verb may take to stop after a signal, and then its outputs to be removed. */
const STOP_MILLISECONDS = 2000;
const CLEAN_UP_MILLISECONDS = 500;
/** 128 and the number of the signal, as a shell reports it. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
/** The same of SIGPIPE, by which other programs end when their reader has gone. */
const CLOSED_PIPE = 141;
/** Rows or files that cannot be read: another try would fail too. */
const BAD_DATA = 3;

const words = process.argv.slice(2);
const isDebug = words.includes('--debug');
const talk = new Talk({
  stream: process.stderr,
  isQuiet: words.includes('--quiet') || words.includes('-q'),
});
const stop = new AbortController();
let stoppedBy: keyof typeof EXIT_CODES | null = null;
let running: Call | null = null;
const reported = new Set<string>();

/** Loads the code of one verb at most, and none for help. */
async function run(): Promise<number> {
  const asksHelp = ['help', '--help', '-h'].includes(words[0]);
  const isOfVerb = asksHelp && VERBS.some((verb) => verb.name === words[1]);
  const [name, ...rest] = isOfVerb ? [words[1], '--help'] : words;
  if (name === '--version') return print(`${HALFSPACE_VERSION}\n`);
  if (name === undefined || (asksHelp && !isOfVerb)) {
    const { helpOfCommand } = await import('./help');
    await print(helpOfCommand(VERBS));
    return name === undefined ? 2 : 0;
  }
  const verb = VERBS.find((one) => one.name === name);
  if (verb === undefined) throw unknownVerb(name);
  if (rest.includes('--help') || rest.includes('-h')) {
    const { helpOfVerb } = await import('./help');
    return print(helpOfVerb(verb));
  }
  const [{ Call }, { COMMON_OPTIONS }] = await Promise.all([import('./call'), import('./options')]);
  running = new Call([...verb.options, ...COMMON_OPTIONS], rest, { talk, signal: stop.signal });
  // What the library's calls read where they are given no number.
  const threads = running.text('threads');
  if (threads !== undefined) process.env.HALFSPACE_THREADS = threads;
  return (await verb.load()).run(running);
}

async function print(text: string): Promise<0> {
  await new Promise((resolve) => process.stdout.write(text, resolve));
  return 0;
}

/** The misuse that suggests the verb of the nearest name. */
function unknownVerb(name: string): CommandError {
  const names = VERBS.map((verb) => verb.name);
  const nearest = nearestName(name, names);
  const hint = nearest === null ? `the verbs are ${names.join(', ')}` : `did you mean ${nearest}?`;
  return new CommandError(`no verb "${name}", ${hint}`, 2);
}

/** The exit code of an error, which is reported unless it is no failure. */
function exitCodeOf(thrown: unknown): number {
  if (isClosedPipe(thrown)) return CLOSED_PIPE;
  const error = (running && misuseOf(thrown, running)) ?? thrown;
  if (stoppedBy !== null && (isAbort(error) || error === stop.signal.reason)) {
    return EXIT_CODES[stoppedBy];
  }
  const sentence = sentenceOf(error);
  // Several streams may report the same error.
  if (!reported.has(sentence)) talk.error(`halfspace: ${sentence}`);
  reported.add(sentence);
  if (isDebug && error instanceof Error) talk.error(String(error.stack));
  if (error instanceof CommandError) return error.exitCode;
  return error instanceof FormatError ? BAD_DATA : 1;
}

/** Leaves when what was closed is closed and what was printed is written. */
async function end(code: number): Promise<never> {
  await running?.cleanUp();
  talk.clear();
  await new Promise((resolve) => process.stdout.write('', resolve));
  process.exit(code);
}

/**
 * Ends a verb that did not stop in time. Where a call of the system blocks, as the opening of a
 * named pipe without a reader, an exit would wait for it: the signal itself ends the program.
 */
async function endBy(signal: keyof typeof EXIT_CODES): Promise<void> {
  const limit = new Promise((resolve) => setTimeout(resolve, CLEAN_UP_MILLISECONDS));
  await Promise.race([running?.cleanUp(), limit]);
  const mayBlock = process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));
  if (!mayBlock) return end(EXIT_CODES[signal]);
  talk.clear();
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

for (const signal of Object.keys(EXIT_CODES) as (keyof typeof EXIT_CODES)[]) {
  process.on(signal, () => {
    // The first signal is enough: removing what is half written takes a moment.
    if (stoppedBy !== null) return;
    stoppedBy = signal;
    stop.abort();
    setTimeout(endBy, STOP_MILLISECONDS, signal).unref();
  });
}
process.stdout.on('error', (error) => end(exitCodeOf(error)));
process.stderr.on('error', () => undefined);

// A verb that finished in spite of a signal has done its work: its own exit code says so.
run()
  .catch((error) => {
    const code = exitCodeOf(error);
    return stoppedBy === null ? code : EXIT_CODES[stoppedBy];
  })
  .then(end);
