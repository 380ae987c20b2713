// What our index and the graph rivals need to find GloVe's neighbours: time and memory to build,
// recall and speed by effort. Ours is built anew each time. Graphs take minutes to build and are kept in bench/.cache with their time
// and memory; a file's name tells the version, the parameters and the data.

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inChild } from './child.mjs';
import { buildGlove, gloveMark } from './glove.mjs';
import { EFFORTS, PARAMETERS, versionOf } from './graph-engines.mjs';

const child = fileURLToPath(new URL('graph-child.mjs', import.meta.url));
const cache = fileURLToPath(new URL('../.cache/', import.meta.url));

/** All search in turn, so many times: the machine is not equally fast all the time. */
const ROUNDS = 3;

/**
 * `{ name, version, parameters, built, bytes, points }` of each that is installed. `built` has
 * `{ seconds, cpuSeconds, bytes }`, of which a busy machine lengthens the first; `bytes` is of what
 * is read from its file; `points` have `{ effort, recall, perSecond, slowest, fastest }`.
 */
export function graphRivals({ isRebuilt = false } = {}) {
  buildGlove();
  const engines = Object.keys(PARAMETERS).flatMap((name) => {
    const version = versionOf(name);
    if (version === null) {
      const loud = `**NO ${name}**: npm could not compile it (C++ compiler, Node's headers).`;
      console.error(loud);
      console.log(`\n${loud}`);
      return [];
    }
    const graph = graphOf(name, version, isRebuilt || name === 'halfspace');
    return { name, version, parameters: PARAMETERS[name], ...graph, rounds: [] };
  });
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, path, rounds } of engines) {
      console.error(`${name}: searching ...`);
      rounds.push(inChild(child, { verb: 'search', name, path, efforts: EFFORTS[name] }));
    }
  }
  return engines.map(({ rounds, ...engine }) => ({
    ...engine,
    bytes: rounds[0].bytes,
    points: rounds[0].points.map(({ effort, recall }, i) => {
      const speeds = rounds.map(({ points }) => points[i].perSecond).sort((a, b) => a - b);
      const [slowest, fastest] = [speeds[0], speeds[speeds.length - 1]];
      return { effort, recall, perSecond: speeds[speeds.length >> 1], slowest, fastest };
    }),
  }));
}

function graphOf(name, version, isRebuilt) {
  const marks = [name, version, ...Object.values(PARAMETERS[name]), gloveMark()];
  const path = join(cache, marks.join('-'));
  const record = `${path}.json`;
  // The record is written last: where there is one, the graph is whole.
  if (isRebuilt || !existsSync(record)) {
    console.error(`${name}: building the graph, which takes some minutes ...`);
    mkdirSync(cache, { recursive: true });
    const unfinished = `${path}.${process.pid}`;
    const built = inChild(child, { verb: 'build', name, path: unfinished });
    renameSync(unfinished, path);
    writeFileSync(record, `${JSON.stringify(built, null, 2)}\n`);
  }
  return { path, built: JSON.parse(readFileSync(record, 'utf8')) };
}
