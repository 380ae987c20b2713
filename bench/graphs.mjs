// What do graphs take to find neighbours by cosine? On GloVe in full size, hnswlib-node and usearch
// as npm installs them: time and memory to build, and the speed of each recall. Graphs are kept in
// bench/.cache; `--rebuild` builds them anew, `--ef 20,200` searches with other widths.

import { parseArgs } from 'node:util';
import { graphRivals } from './lib/graph-rivals.mjs';
import { announce, bytesText, printTable, short } from './lib/table.mjs';

const { values: given } = parseArgs({
  options: {
    rebuild: { type: 'boolean', default: false },
    ef: { type: 'string', default: '10,20,40,80,160,320,640,1000' },
  },
});

await announce();
const rivals = graphRivals(given.ef.split(',').map(Number), { isRebuilt: given.rebuild });
printTable(
  'Graphs of 340,479 GloVe vectors of 100 dimensions, one thread',
  ['way', 'parameters', 's to build', 'CPU s', 'built', 'read from its file'],
  rivals.map(({ name, version, parameters, built, bytes }) => [
    `${name} ${version}`,
    ...[JSON.stringify(parameters).replaceAll(/["{}]/g, '').replaceAll(/[:,]/g, '$& ')],
    ...[short(built.seconds), short(built.cpuSeconds)],
    ...[bytesText(built.bytes), bytesText(bytes)],
  ]),
  2,
);
console.log('\nMemory: rss added since the data were loaded; 136 MB are the vectors in the graph.');
printTable(
  'The 10 nearest of 1,000 queries, one query a call',
  ['way', 'ef', 'recall@10', 'queries/s', 'µs a query'],
  rivals.flatMap(({ name, points }) =>
    points.map(({ ef, recall, perSecond }) => [
      ...[name, ef, recall.toFixed(4), short(perSecond), short(1e6 / perSecond)],
    ]),
  ),
);
