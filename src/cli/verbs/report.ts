/**
 * `halfspace report`: the page of `explore` about an index as one HTML file, or its figures as
 * JSON. Of a damaged index the page lists the damage, nothing is measured, and the exit code is 1.
 * A report that is stopped leaves the file as it was.
 */

import { basename } from 'node:path';
import { measureOf } from '../../codes/measure';
import type { Held } from '../../explorer/messages';
import { type MeasureOptions, measureIndex } from '../../measure/measure-index';
import type { IndexFolder, SimHashIndex } from '../../node';
import type { Call } from '../call';
import { type Explored, openExplored } from '../explore/explored';
import { type FolderState, folderState, healthAnswer, healthData } from '../explore/health';
import { heldMap } from '../explore/held-map';
import { singlePage } from '../explore/page-file';
import { openFolder } from '../input/index-folder';
import { checkMeasure } from '../input/nearness';
import { readQueries } from '../input/queries';
import { PageFile } from '../output/rows';

/** Writes the page, or data under a name in .json; resolves to 1 if the index is damaged. */
export async function run(call: Call): Promise<0 | 1> {
  const path = call.onlyInput();
  // Refuses what cannot be written before the index is read.
  const file = await PageFile.named(call, []);
  if (file === null) call.misuse('an output is missing: -o report.html');
  const folder = await openFolder(call, path);
  checkMeasure(call, measureOf(folder.options.projection));
  const options = optionsOf(call, folder.options.bits as number);
  // Damage is found before anything is loaded: rows of damaged files are not to be trusted.
  const state = await folderState(call, folder);
  if (state.problems.length > 0) {
    await file.write(file.isData ? healthData(state, null) : await damagedPage(state));
    call.say(`wrote ${file.path}: the index is damaged, so nothing was measured`);
    return 1;
  }
  const explored = await openExplored(call, path, true);
  if (call.has('queries')) await remeasure(call, explored.index, folder);
  const measured = await measureIndex(explored.index, options, call.long);
  const health = healthAnswer(state, measured, (row) => String(explored.index.idOf(row)));
  await file.write(
    file.isData
      ? healthData(state, measured)
      : await singlePage({ ...(await shown(call, explored)), health }),
  );
  call.say(`wrote ${file.path}`);
  return 0;
}

/** Measures recall with --queries, next to held-out rows, for the page; the folder stays as is. */
async function remeasure(call: Call, index: SimHashIndex, folder: IndexFolder): Promise<void> {
  if (call.has('no-times')) call.misuse('--queries measures searches, which --no-times leaves out');
  if (index.report === null) {
    call.fail(`${folder.path} has no measured recall: halfspace index ${folder.path} --optimize`);
  }
  const { queries, named } = await readQueries(call, folder, true);
  await call.long('searching for the queries', (work) =>
    named(() => index.remeasureAsync({ queries, ...work })),
  );
}

/** What the page shows besides the figures: the map with its cards and codes, and the title. */
async function shown(call: Call, explored: Explored): Promise<Omit<Held, 'health'>> {
  const map = { seed: call.number('seed') as number, clusters: call.number('clusters') };
  // A page without a server hashes no query: it searches by the rows that it holds.
  const about = { ...explored.about(null), hasText: false, dimensions: null };
  return { title: about.title, about, ...(await heldMap(call, explored, map)) };
}

/** The page of a damaged index: its problems, facts and files, but no rows. */
function damagedPage(state: FolderState): Promise<string> {
  const title = basename(state.path);
  const nothing = { about: null, map: null, cards: [], codes: null };
  return singlePage({ title, ...nothing, health: healthAnswer(state, null, String) });
}

/** What to measure by the options of the call; `bits` is the width of the index's codes. */
function optionsOf(call: Call, bits: number): MeasureOptions {
  const numbers = call.numbers('sample', 'seed', 'minCosine', 'minJaccard', 'maxDistance');
  const { maxDistance } = numbers;
  if (maxDistance !== undefined && maxDistance > bits) {
    call.misuse(`--max-distance expected an integer in 0..${bits}, got ${maxDistance}`);
  }
  // All but the distance have an initial value.
  return { ...(numbers as MeasureOptions), isTimed: !call.has('no-times') };
}
