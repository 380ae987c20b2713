/**
 * Runs inputs of one target until its time or its count is over. Arguments: target, seed, number of
 * the first input, seconds, count. Prints a line of JSON for each finding and one at its end; the
 * file NOTE has the number of the input at work, for the parent to read when this process dies.
 */

import { writeSync } from 'node:fs';
import { Draws } from '../reference/random';
import { allocated } from '../table/allocations'; // first: it must see the libraries' constructors
import { note } from '../table/child-note';
import { Finding } from './check';
import { TARGETS, targetOf } from './targets';

/** Buffers that one input may ask for; inputs have at most 64 KiB, seeds and answers some more. */
const MAX_BYTES = 192 << 20;

const [name, seed, first, seconds, count] = process.argv.slice(2);
const print = (line: object) => writeSync(1, `${JSON.stringify(line)}\n`);

if (name === undefined) {
  print(Object.keys(TARGETS));
  process.exit();
}

const run = targetOf(name);
const end = performance.now() + 1000 * Number(seconds);
const last = Number(first) + Number(count);
let input = Number(first);
/** Findings so far, by their words: the same again is not printed. */
const seen = new Set<string>();

process.on('unhandledRejection', (error) => {
  print({ input, message: `unhandled rejection: ${(error as Error)?.stack ?? error}` });
});

for (; input < last && performance.now() < end; input++) {
  note(String(input));
  try {
    const { answer, bytes } = allocated(() => run(new Draws(`${name} ${seed} ${input}`)));
    // Of asynchronous work only what it asks for before its first pause is counted.
    if (answer instanceof Promise) await answer;
    if (bytes > MAX_BYTES) throw new Finding(`${bytes} bytes were asked for`);
  } catch (error) {
    const isOurs = error instanceof Finding;
    const message = String(isOurs ? error.message : ((error as Error)?.stack ?? error));
    const words = message.split('\n')[0].replace(/".*"|\d+/g, '');
    if (!seen.has(words)) print({ input, message });
    seen.add(words);
  }
}
print({ inputs: input - Number(first) });
process.exit(); // work that a target left behind must not keep the process
