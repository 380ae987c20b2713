// How do build, memory and speed of a search grow with the number of rows? GloVe in 100,000, 340,479 and
// 1,000,000 rows (the last with noisy copies), next to ScaNN and FAISS IVF-PQ.

import { contest } from './lib/contest.mjs';
import { vectorsOf } from './lib/data-sets.mjs';
import { speedAt } from './lib/recall-speed.mjs';
import { announce, printTable, short } from './lib/table.mjs';

const NAMES = ['halfspace', 'ScaNN', 'FAISS IVF-PQ'];
const RECALL = 0.95;

await announce();
const results = [];
for (const set of ['100k', 'glove', '1m']) {
  const found = await contest(set, { names: NAMES }); // builds the set where it is missing
  const { values, dimensions } = vectorsOf(set, 'train');
  results.push({ rows: values.length / dimensions, found });
}
printTable(
  `GloVe in three sizes, one thread; queries a second at recall ${RECALL}`,
  ['engine', 'rows', 'CPU s to build', 'µs a row', 'bytes a row', 'one a call', '1,000 a call'],
  NAMES.flatMap((name) =>
    results.flatMap(({ rows, found }) => {
      const one = found.find((engine) => engine.name === name);
      if (one === undefined) return [];
      const { built, opened, single, batch } = one;
      return [
        [
          ...[name, rows.toLocaleString('en'), short(built.cpuSeconds)],
          ...[short((1e6 * built.cpuSeconds) / rows), short(opened.bytes / rows)],
          ...[short(speedAt(single, RECALL)), short(speedAt(batch, RECALL))],
        ],
      ];
    }),
  ),
);
for (const name of NAMES) {
  const of = results.map(({ found }) => found.find((engine) => engine.name === name));
  const [few, many] = [of[0], of[of.length - 1]];
  if (few === undefined) continue;
  const growth = Math.log(results[2].rows / results[0].rows);
  const time = speedAt(few.single, RECALL) / speedAt(many.single, RECALL);
  const build = many.built.cpuSeconds / few.built.cpuSeconds;
  console.log(
    `\n${name}: from 100,000 to 1,000,000 rows, the time of a query grows as rows^${(Math.log(time) / growth).toFixed(2)}, that of the build as rows^${(Math.log(build) / growth).toFixed(2)}.`,
  );
}
