/**
 * `halfspace index-parts`, which the help does not show: for the tasks of the Spark package. Builds
 * a folder of some rows of an index (`--like` a trained one, from `--first-row` on), and merges
 * such folders into one. Without these options it is `halfspace index`.
 */

import { IndexFolder } from '../../node';
import type { Call } from '../call';
import { buildFolder, needDense, openNewRows, openRowsLike } from '../input/new-index';
import { openFolder } from '../input/saved-index';
import {
  refuseOther,
  refuseUnused,
  run as runIndex,
  sayReport,
  showIndex,
  wantedOf,
} from './index';

/** What does not go with a merge, whose rows and partitions are there. */
const NOT_MERGED = [
  ...['append', 'remove', 'compact', 'queries', 'partitions', 'first-row', 'like'],
];

/** Merges folders, builds one part, or does what `index` does. */
export async function run(call: Call): Promise<0> {
  const output = call.text('output');
  if (call.has('merge')) return mergeFolders(call, output);
  const like = call.text('like');
  const isPart = like !== undefined || call.has('first-row');
  if (output === undefined || !isPart) return runIndex(call);
  refuseUnused(call);
  await refuseOther(call, output);
  const rows =
    like === undefined
      ? await openNewRows(call, call.onlyInput())
      : await openPart(call, call.onlyInput(), like);
  const optimize = call.has('optimize') ? wantedOf(call) : undefined;
  await buildFolder(call, output, rows, { optimize, firstRow: call.number('first-row') });
  return showIndex(call, output, null);
}

/** The rows of an input, to be put into the partitions of a trained index. */
async function openPart(call: Call, input: string, like: string) {
  const folder = await openFolder(call, like);
  if (call.has('optimize')) needDense(call, folder.options.vectors);
  return { ...(await openRowsLike(call, input, folder)), optionsOf: () => ({ like }) };
}

async function mergeFolders(call: Call, output: string | undefined): Promise<0> {
  if (call.args.length === 0 || output === undefined) {
    call.misuse('say which folders to merge, and where to: index-parts A B --merge -o DIR');
  }
  refuseUnused(call);
  await refuseOther(call, output);
  call.refuse(NOT_MERGED, (name) => `--${name} is not for --merge`);
  const memory = call.number('memory');
  const { report } = await call.long(`merging ${output}`, (long) =>
    IndexFolder.merge(output, call.args, {
      replace: call.has('force'),
      manifestsOnly: call.has('manifests-only'),
      ...(call.has('optimize') && { optimize: wantedOf(call) }),
      ...(memory !== undefined && { memory }),
      ...long,
    }),
  );
  const measured = report?.stale ? null : report;
  if (measured !== null) sayReport(call, measured, null);
  return showIndex(call, output, measured);
}
