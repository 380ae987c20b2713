// How fast are neighbors by cosine found, at which recall? Our index next to ScaNN, FAISS, hnswlib and
// usearch on one data set: glove, images, sentences, or nouns, which needs no download. One query a call and 1,000 in one call; build,
// memory, and the speed at each recall. Draws docs/recall-SET.svg. Indexes of rivals that are slow to
// build are kept in bench/.cache; `--rebuild` builds them again, `--build` builds them and stops.
// BENCH_ENGINES names those that take part, ours first, with commas.

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { announce, bytesText, isSmall, printTable, short, times } from './lib/bench.mjs';
import { buildKept, contest } from './lib/contest.mjs';
import { DATA_SETS, vectorsOf } from './lib/data-sets.mjs';
import { RECALLS, recallPicture, speedAt } from './lib/recall-picture.mjs';

const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rebuild: { type: 'boolean', default: false },
    build: { type: 'boolean', default: false },
    small: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
});
const [set = isSmall ? 'nouns' : 'glove'] = positionals;
if (DATA_SETS[set] === undefined) throw new Error(`no data set "${set}"`);
if (given.build) {
  await buildKept(set);
  process.exit();
}

/** Efforts that find less are measured, but left out of the tables. */
const LOWEST_RECALL = 0.85;

const names = process.env.BENCH_ENGINES?.split(',') ?? null;
await announce();
const found = await contest(set, { isRebuilt: given.rebuild, names });
const [ours, ...rivals] = found;
const { values, dimensions } = vectorsOf(set, 'train');
const title = `${(values.length / dimensions).toLocaleString('en')} ${DATA_SETS[set].rows} of ${dimensions} dimensions`;

printTable(
  `${title}: build and memory, one thread`,
  ['engine', 'parameters', 's', 'CPU s', 'memory as built', 'read from its file', 's to read'],
  found.map(({ name, version, parameters, built, graph, opened }) => [
    `${name} ${version}`,
    graph ? `the graph of ${graph}` : listed(parameters),
    ...(built
      ? [short(built.seconds), short(built.cpuSeconds), bytesText(built.bytes)]
      : ['', '', '']),
    ...[bytesText(opened.bytes), short(opened.seconds)],
  ]),
  2,
);
console.log(
  `\nMemory: what the process gained after the data were loaded. CPU seconds do not depend on other work of the machine. Of ours, optimize takes ${short(ours.built.optimizeSeconds)} s.`,
);
for (const [kind, what] of [
  ['single', 'one query a call'],
  ['batch', '1,000 queries in one call'],
]) {
  printCurves(kind, what);
  printSpeeds(kind, what);
}
if (!isSmall) {
  const picture = recallPicture(
    found.map(({ name, single }) => ({ name, points: single })),
    `${title}, one query a call`,
  );
  writeFileSync(new URL(`../docs/recall-${set}.svg`, import.meta.url), picture);
}

/** Points that no other of the same engine exceeds in both recall and speed. */
function printCurves(kind, what) {
  printTable(
    `${title}, ${what}: recall and speed by effort`,
    ['engine', 'effort', 'recall@10', 'queries/s', 'slowest..fastest round'],
    found.flatMap(({ name, [kind]: points }) =>
      points
        .filter(({ recall }) => recall >= LOWEST_RECALL)
        .map(({ effort, recall, perSecond, slowest, fastest }) => [
          ...[name, listed(effort), recall.toFixed(4), short(perSecond)],
          `${short(slowest)}..${short(fastest)}`,
        ]),
    ),
    2,
  );
}

function printSpeeds(kind, what) {
  const others = rivals.filter(({ [kind]: points }) => points.length > 0);
  printTable(
    `${title}, ${what}: queries a second at a recall, and halfspace as a multiple`,
    ['recall', 'halfspace', ...others.map(({ name }) => name)],
    RECALLS.map((recall) => {
      const speed = speedAt(ours[kind], recall);
      const cells = others.map(({ [kind]: points }) => {
        const other = speedAt(points, recall);
        return Number.isNaN(other) ? '-' : `${short(other)} · ${times(speed / other)}`;
      });
      return [recall, short(speed), ...cells];
    }),
    0,
  );
}

function listed(values) {
  return Object.entries(values)
    .map(([key, value]) => `${key} ${value}`)
    .join(', ');
}
