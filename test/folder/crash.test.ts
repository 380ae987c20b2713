// @module-tag full

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { IndexFolder, openIndex } from '../../src/folder/index-folder';
import { Draws } from '../reference/random';
import { bundled, type Child } from './child';
import { expectModel, type Model, temporaryFolder } from './collection';
import { changeOf } from './crash-plan';

/** Deaths of a process at its work, where each must leave the old index or the new one. */

const KILLS = 200;
const SEED = 20261121;
/** A child that has begun lives at most so long. */
const MAX_MS = 90;

const root = await temporaryFolder();
const start = await bundled('crash.child.ts');

/** What each generation holds, by the plan alone. */
const models: Model[] = [new Map()];
function modelOf(generation: number): Model {
  while (models.length <= generation) {
    const { added, removed } = changeOf(models.length);
    const model = new Map(models.at(-1));
    for (const { id, code } of added) model.set(id, code);
    for (const id of removed) model.delete(id);
    models.push(model);
  }
  return models[generation];
}

it(`leaves a whole generation behind, killed ${KILLS} times at any moment`, async () => {
  const folder = join(root, 'docs.hs');
  const draws = new Draws(SEED);
  // The next child starts while one is at work: to start takes longer than to die.
  const next = () => start([folder]);
  let waiting: Child = next();
  let [generation, grown, late] = [0, 0, 0];
  for (let kill = 0; kill < KILLS; kill++) {
    const child = waiting;
    waiting = next();
    await child.printed('ready');
    child.process.stdin?.write('go\n');
    // Some die before they have saved, most between two saves or in the middle of one.
    if (draws.integer(4) > 0) await child.printed('saved');
    await new Promise((resolve) => setTimeout(resolve, draws.integer(MAX_MS)));
    child.process.kill('SIGKILL');
    expect([await child.end, child.output.stderr]).toEqual([null, '']);
    const told = Number(
      /saved (\d+)\n(?!.*saved \d+\n)/s.exec(child.output.stdout)?.[1] ?? generation,
    );
    if (readdirSync(root).length === 0) continue; // before the folder was made
    if (told === 0 && !readdirSync(folder).some((name) => /^manifest-\d+\.json$/.test(name)))
      continue;
    const opened = await IndexFolder.open(folder);
    const index = await openIndex(folder);
    const where = `seed ${SEED}, kill ${kill}`;
    // What was told to be saved is there; at most one more is, of which the child could not tell.
    expect([where, opened.generation - told]).toEqual([where, opened.generation === told ? 0 : 1]);
    expectModel(index, modelOf(opened.generation));
    if (kill % 10 === 0) expect((await IndexFolder.verify(folder)).problems).toEqual([]);
    if (opened.generation > generation) grown++;
    if (opened.generation > told) late++;
    generation = opened.generation;
  }
  waiting.process.kill('SIGKILL');
  await waiting.end;
  expect(grown).toBeGreaterThan(KILLS / 2);
  expect(late).toBeLessThan(KILLS);
  // The next save clears what the dead left.
  const index = await openIndex(folder);
  index.add(Uint8Array.of(1, 2, 3), 'last');
  const { saveIndex } = await import('../../src/folder/save-index');
  await saveIndex(index, folder);
  await saveIndex(index, folder);
  const { files } = await IndexFolder.open(folder);
  const before = 2; // the manifest before, and the copy
  expect(readdirSync(folder).length).toBeLessThanOrEqual(2 * files.length + before + 1);
}, 300_000);
