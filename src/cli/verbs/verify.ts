/**
 * `halfspace verify`: checks every checksum and invariant of an index, or reads every row of a
 * file. Exit code 1 reports damage of an index, 3 that of a file. With --repair an index goes back
 * to its newest sound generation; with --yes too where that discards rows.
 */

import { IndexFolder, type RepairLoss } from '../../node';
import { isIndexFolder } from '../../store/generations';
import type { Call } from '../call';
import { batchesOf, openInput } from '../input/open-input';
import { counted, printable } from '../output/figures';

interface Health {
  readonly rows: number;
  readonly problems: readonly { readonly file: string; readonly message: string }[];
}

/** Prints each problem, or that there is none; resolves to 1 if one is found and not repaired. */
export async function run(call: Call): Promise<0 | 1> {
  const path = call.onlyInput();
  const isIndex = path !== '-' && (await isIndexFolder(path));
  const isRepair = call.has('repair');
  if (isRepair && !isIndex) call.misuse(`--repair is for an index, ${path} is none`);
  const { rows, problems } = isIndex
    ? await call.long(`verifying ${path}`, (long) => {
        return isRepair
          ? IndexFolder.repair(path, { ...long, confirm: (loss) => isWanted(call, path, loss) })
          : IndexFolder.verify(path, long);
      })
    : await healthOfFile(call, path);
  const isSound = problems.length === 0;
  const found = problems.map(({ file, message }) => `${printable(`${file}: ${message}`)}\n`);
  if (isSound || isRepair) {
    found.push(`${path}: ${isSound ? 'sound' : 'repaired'}, ${counted(rows, 'row')}\n`);
  }
  await call.print(
    call.has('json') ? `${JSON.stringify({ path, rows, problems })}\n` : found.join(''),
  );
  return isSound || isRepair ? 0 : 1;
}

/** Whether to discard rows: with --yes, or where none is lost. Ends the verb where not. */
function isWanted(call: Call, path: string, { generation, rows }: RepairLoss): boolean {
  if (rows === 0 || call.has('yes')) return true;
  const lost = rows === null ? 'what was saved since' : `up to ${counted(rows, 'row')} saved since`;
  const what = `going back to generation ${generation} discards ${lost}`;
  return call.fail(`${path}: ${what}; nothing was changed. Add --yes to do it`);
}

/** Reads all rows and columns of a file; the error for what is wrong ends the verb. */
async function healthOfFile(call: Call, path: string): Promise<Health> {
  let rows = 0;
  for await (const batch of batchesOf(call, await openInput(call, path))) {
    for (const { name } of batch.columns) batch.values(name);
    rows += batch.count;
  }
  return { rows, problems: [] };
}
