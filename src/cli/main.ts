/**
 * The process `halfspace`: runs the command with its words and streams, stops it by SIGINT
 * (Ctrl-C), SIGTERM and SIGHUP, and ends with its exit code.
 */

import { Command, STOPPED } from './command';

/** How long a verb may take to stop after a signal, and then its outputs to be removed. */
const STOP_MILLISECONDS = 2000;
const CLEAN_UP_MILLISECONDS = 500;
/** 128 and the number of the signal, as a shell reports it. */
const EXIT_CODES = { SIGINT: STOPPED, SIGTERM: 143, SIGHUP: 129 } as const;

const stop = new AbortController();
let stoppedBy: keyof typeof EXIT_CODES = 'SIGINT';
const { stdin, stdout, stderr } = process;
const command = new Command(process.argv.slice(2), { stdin, stdout, stderr, signal: stop.signal });

/** Leaves when what was closed is closed and what was printed is written. */
async function end(code: number): Promise<never> {
  await command.cleanUp();
  await new Promise((resolve) => stdout.write('', resolve));
  process.exit(code === STOPPED ? EXIT_CODES[stoppedBy] : code);
}

/**
 * Ends a verb that did not stop in time. Where a call of the system blocks, as the opening of a
 * named pipe without a reader, an exit would wait for it: the signal itself ends the program.
 */
async function endBySignal(): Promise<void> {
  const limit = new Promise((resolve) => setTimeout(resolve, CLEAN_UP_MILLISECONDS));
  await Promise.race([command.cleanUp(), limit]);
  const mayBlock = process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));
  if (!mayBlock) return end(STOPPED);
  process.removeAllListeners(stoppedBy);
  process.kill(process.pid, stoppedBy);
}

for (const signal of Object.keys(EXIT_CODES) as (keyof typeof EXIT_CODES)[]) {
  process.on(signal, () => {
    // The first signal is enough: removing what is half written takes a moment.
    if (stop.signal.aborted) return;
    stoppedBy = signal;
    stop.abort();
    setTimeout(endBySignal, STOP_MILLISECONDS).unref();
  });
}
stdout.on('error', (error) => end(command.exitCodeOf(error)));
stderr.on('error', () => undefined);

command.run().then(end);
