/**
 * `halfspace report`: a page about an index, or its data, in one file. A damaged index gives a page
 * that says so, and exit code 1; a report that is stopped leaves the file as it was.
 */

import type { Call } from '../call';
import { openFolder } from '../input/index-folder';
import { PageFile } from '../output/rows';
import { indexData, indexPage } from '../report/index-page';
import { folderState, indexReport, type ReportOptions, rowNames } from '../report/index-report';

/** Writes the page; 1 where the index is damaged. */
export async function run(call: Call): Promise<0 | 1> {
  const path = call.onlyInput();
  const file = await PageFile.named(call, []);
  if (file === null) call.misuse('an output is missing: -o report.html');
  const folder = await openFolder(call, path);
  const options = optionsOf(call, folder.options.bits as number);
  const facts = await folderState(call, folder);
  if (facts.problems.length > 0) {
    await file.write(file.isData ? indexData(facts, null) : indexPage(facts, null, null));
    call.say(`wrote ${file.path}: the index is damaged, so nothing was measured`);
    return 1;
  }
  const index = await call.long('opening', (work) => folder.index(work));
  const names = await rowNames(call, folder, index);
  const report = await indexReport(call, index, options);
  await file.write(file.isData ? indexData(facts, report) : indexPage(facts, report, names));
  call.say(`wrote ${file.path}`);
  return 0;
}

function optionsOf(call: Call, bits: number): ReportOptions {
  const maxDistance = call.number('max-distance');
  if (maxDistance !== undefined && maxDistance > bits) {
    call.misuse(`--max-distance expected an integer in 0..${bits}, got ${maxDistance}`);
  }
  return {
    sample: call.number('sample') as number,
    seed: call.number('seed') as number,
    clusters: call.number('clusters') as number,
    minCosine: call.number('min-cosine') as number,
    maxDistance,
    isTimed: !call.has('no-times'),
  };
}
