// How fast are neighbours by cosine found, at which recall? On GloVe in full size, our index beside
// hnswlib-node and usearch as npm installs them: build, memory, and the speed of each recall. Graphs
// are kept in bench/.cache, `--rebuild` builds them anew. Draws docs/recall.svg.

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { graphRivals } from './lib/graph-rivals.mjs';
import { recallPicture, speedAt } from './lib/recall-picture.mjs';
import { announce, bytesText, mark, printTable, short, times } from './lib/table.mjs';

const { values: given } = parseArgs({
  options: {
    rebuild: { type: 'boolean', default: false },
  },
});
const RECALLS = [0.9, 0.95, 0.99];
/** How many times a rival's speed ours is to be, by recall. */
const MARKS = { 'hnswlib-node': [1.2, 2, 2.5], usearch: [2, 4, 5] };

await announce();
const engines = graphRivals({ isRebuilt: given.rebuild });
const [ours, ...rivals] = engines;
printTable(
  '340,479 GloVe vectors of 100 dimensions, one thread',
  ['way', 'parameters', 's to build', 'CPU s', 'built', 'read from its file'],
  engines.map(({ name, version, parameters, built, bytes }) => [
    `${name} ${version}`,
    ...[JSON.stringify(parameters).replaceAll(/["{}]/g, '').replaceAll(/[:,]/g, '$& ')],
    ...[short(built.seconds), short(built.cpuSeconds)],
    ...[bytesText(built.bytes), bytesText(bytes)],
  ]),
  2,
);
console.log('\nMemory: rss added since the data were loaded; 136 MB are the vectors in each.');
printTable(
  'The 10 nearest of 1,000 queries, one query a call; effort is partitions visited, or ef',
  ['way', 'effort', 'recall@10', 'queries/s', 'slowest..fastest round'],
  engines.flatMap(({ name, points }) =>
    points.map(({ effort, recall, perSecond, slowest, fastest }) => [
      ...[name, effort, recall.toFixed(4), short(perSecond)],
      `${short(slowest)}..${short(fastest)}`,
    ]),
  ),
);
printTable(
  'Queries a second at a recall, between the points measured',
  ['recall', 'halfspace', ...rivals.flatMap(({ name }) => [name, `halfspace / ${name}`])],
  RECALLS.map((recall) => {
    const speed = speedAt(ours.points, recall);
    const others = rivals.flatMap(({ points }) => {
      const other = speedAt(points, recall);
      return [short(other), times(speed / other)];
    });
    return [recall, short(speed), ...others];
  }),
  0,
);
for (const { name, built, bytes, points } of rivals) {
  RECALLS.forEach((recall, i) => {
    const ratio = speedAt(ours.points, recall) / speedAt(points, recall);
    mark(`speed of ${name} at recall ${recall}`, ratio, { least: MARKS[name][i] });
  });
  mark(`memory of ${name}`, ours.bytes / bytes, { most: 1 });
  if (name === 'hnswlib-node') {
    mark(`CPU time of ${name} to build`, ours.built.cpuSeconds / built.cpuSeconds, { most: 0.1 });
  }
}
writeFileSync(new URL('../docs/recall.svg', import.meta.url), recallPicture(engines));
