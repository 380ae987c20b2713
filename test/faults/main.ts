/** What scripts/faults.mjs runs: the faults that are asked for, or a child of them. */

import { errors, kills, losses, readUntilKilled, workUntilKilled } from './faults';
import { longLife } from './long-life';
import { WORKS, workOf } from './works';

type Given = Partial<Record<'errors' | 'losses' | 'kills' | 'operations', number>> & {
  readonly seed: string;
  /** One writer; all by default. */
  readonly work?: string;
};

const [command, ...args] = process.argv.slice(2);

let [passed, failed] = [0, 0];

/** Runs one kind of fault, and prints what was survived. */
async function run(name: string, faults: () => Promise<string>): Promise<void> {
  const start = performance.now();
  try {
    const survived = await faults();
    passed++;
    console.log(`✓ ${name}: ${survived}, ${Math.round((performance.now() - start) / 1000)} s`);
  } catch (error) {
    console.log(`✗ ${name}\n${(error as Error).stack}`);
    failed++;
    process.exitCode = 1;
  }
}

if (command === 'work') {
  await workUntilKilled(args[0], args[1]);
} else if (command === 'read') {
  await readUntilKilled(args[0], args[1]);
} else {
  const { seed, work, ...given } = JSON.parse(command) as Given;
  const works = work === undefined ? WORKS : [workOf(work)];
  if (given.errors) await run('errors', () => errors(works));
  if (given.losses) await run('losses', () => losses(works, given.losses as number, seed));
  if (given.operations) await run('operations', () => longLife(given.operations as number, seed));
  if (given.kills) await run('kills', () => kills(works, given.kills as number, seed));
  console.log(`${passed} passed, ${failed} failed`);
}
