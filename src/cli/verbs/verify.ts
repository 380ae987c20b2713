/**
 * `halfspace verify`: checks every checksum and invariant of an index, or reads every row of a
 * file. Exit code 1 reports damage of an index, 3 that of a file.
 */

import { IndexFolder } from '../../node';
import { isIndexFolder } from '../../store/generations';
import type { Call } from '../call';
import { batchesOf, openInput } from '../input/open-input';
import { counted, printable } from '../output/figures';

interface Health {
  readonly rows: number;
  readonly problems: readonly { readonly file: string; readonly message: string }[];
}

/** Prints each problem, or that there is none; resolves to 1 if one is found. */
export async function run(call: Call): Promise<0 | 1> {
  const path = call.onlyInput();
  const isIndex = path !== '-' && (await isIndexFolder(path));
  const { rows, problems } = isIndex
    ? await call.long(`verifying ${path}`, (long) => IndexFolder.verify(path, long))
    : await healthOfFile(call, path);
  const found = problems.map(({ file, message }) => `${printable(`${file}: ${message}`)}\n`);
  if (problems.length === 0) found.push(`${path}: sound, ${counted(rows, 'row')}\n`);
  await call.print(
    call.has('json') ? `${JSON.stringify({ path, rows, problems })}\n` : found.join(''),
  );
  return problems.length === 0 ? 0 : 1;
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
