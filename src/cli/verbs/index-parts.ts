/**
 * `halfspace index --merge`: folders that tasks of Spark built with --like become one index. Its
 * options are not in the help.
 */

import { IndexFolder, type OptimizeOptions, type RecallReport } from '../../node';
import type { Call } from '../call';

/** What does not go with a merge, whose rows and partitions are there. */
const NOT_MERGED = [
  ...['append', 'remove', 'compact', 'queries', 'partitions', 'first-row', 'like'],
];

/** Merges the folders of the call into `output`; resolves to what was measured, null if nothing. */
export async function mergeFolders(
  call: Call,
  output: string | undefined,
  optimize: OptimizeOptions | null,
): Promise<RecallReport | null> {
  if (call.args.length === 0 || output === undefined) {
    call.misuse('say which folders to merge, and where to: halfspace index A B --merge -o DIR');
  }
  const other = NOT_MERGED.find((name) => call.has(name));
  if (other !== undefined) call.misuse(`--${other} is not for --merge`);
  const memory = call.number('memory');
  const options = {
    replace: call.has('force'),
    manifestsOnly: call.has('manifests-only'),
    ...(optimize && { optimize }),
    ...(memory !== undefined && { memory }),
  };
  const { report } = await call.long(`merging ${output}`, (long) =>
    IndexFolder.merge(output, call.args, { ...options, ...long }),
  );
  return report?.stale ? null : report;
}
