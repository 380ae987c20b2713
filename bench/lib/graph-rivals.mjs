// What the graph rivals need to find GloVe's neighbours: time and memory to build, recall and speed
// by width of the search. Graphs take minutes to build and are kept in bench/.cache with their time
// and memory; a file's name tells the version, the parameters and the data.

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inChild } from './child.mjs';
import { buildGlove, gloveMark } from './glove.mjs';
import { PARAMETERS, versionOf } from './graph-engines.mjs';

const child = fileURLToPath(new URL('graph-child.mjs', import.meta.url));
const cache = fileURLToPath(new URL('../.cache/', import.meta.url));

/**
 * `{ name, version, parameters, built, bytes, points }` of each rival that is installed. `built` has
 * `{ seconds, cpuSeconds, bytes }`, of which a busy machine lengthens the first; `bytes` is of the
 * graph read from its file; `points` have `{ ef, recall, perSecond }`.
 */
export function graphRivals(efs, { isRebuilt = false } = {}) {
  buildGlove();
  return Object.keys(PARAMETERS).flatMap((name) => {
    const version = versionOf(name);
    if (version === null) {
      const loud = `**NO ${name}**: npm could not compile it (C++ compiler, Node's headers).`;
      console.error(loud);
      console.log(`\n${loud}`);
      return [];
    }
    const { path, built } = graphOf(name, version, isRebuilt);
    console.error(`${name}: searching ...`);
    const found = inChild(child, { verb: 'search', name, path, efs });
    return { name, version, parameters: PARAMETERS[name], built, ...found };
  });
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
