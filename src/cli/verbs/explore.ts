/**
 * `halfspace explore`: a page to look at rows, search them and review duplicates, served on this
 * machine until Ctrl-C. The address is printed at once; the input is opened and hashed after that,
 * and the page shows how far this is.
 */

import { spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Status } from '../../explorer/messages';
import type { Call } from '../call';
import { answersOf } from '../explore/answers';
import { openExplored, planPathOf } from '../explore/explored';
import { servedPage } from '../explore/page-file';
import { PlanFile } from '../explore/reviewed-file';
import { startServer } from '../explore/server';
import { marksOf } from '../input/source-marks';

/**
 * Serves until a signal stops it: the promise never resolves, and rejects with the signal's reason.
 * Fails where the input cannot be opened.
 */
export async function run(call: Call): Promise<0> {
  const path = call.onlyInput();
  if (path === '-') call.misuse('explore reads a file or an index folder, not stdin');
  await stat(path); // throws the system's error if the path is missing
  let status: Status = { phase: 'working', label: 'opening', share: null };
  call.onProgress = (label, share) => {
    status = { phase: 'working', label, share };
  };
  let answers: ReturnType<typeof answersOf> | null = null;
  const server = await startServer({
    port: call.number('port') ?? 0,
    files: await servedPage(basename(path)),
    answer: async (question, asked) => {
      // The page asks for the status from the start, and for the rest once it is 'ready'.
      if (question === 'status') return status;
      if (answers === null) throw new RangeError('not ready yet');
      return answers(question, asked);
    },
  });
  call.atEnd(() => server.close());
  await call.print(`${server.address}\n`);
  call.say('Open this address in a browser of this machine. Ctrl-C stops.');
  if (call.has('open')) openBrowser(server.address);
  const planFile = new PlanFile(planPathOf(call, path), await marksOf(call, path));
  const explored = await openExplored(call, path, !(await planFile.isOfCosines()));
  answers = answersOf(call, explored, planFile);
  status = { phase: 'ready', label: '', share: null };
  // From here on progress is that of a single question, such as the one for the map.
  call.onProgress = (label, share) => {
    status = { phase: 'ready', label, share };
  };
  return new Promise((_, reject) => {
    const stop = () => reject(call.signal.reason);
    if (call.signal.aborted) stop();
    else call.signal.addEventListener('abort', stop);
  });
}

/** Opens the user's browser and does not wait for it. Ignores errors: the address was printed. */
function openBrowser(address: string): void {
  const programs: Partial<Record<NodeJS.Platform, [string, string[]]>> = {
    darwin: ['open', [address]],
    win32: ['explorer', [address]],
  };
  const [program, args] = programs[process.platform] ?? ['xdg-open', [address]];
  const child = spawn(program, args, { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}
