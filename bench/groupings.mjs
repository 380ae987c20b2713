// What do both groupings make of the same rows? Points of a plane, as codes whose Hamming
// distance is the way along the grid (each coordinate as so many set bits), within distance 6.
// Draws docs/groupings.svg.

import { writeFileSync } from 'node:fs';
import { Codes, groupRows } from '../dist/index.js';
import { groupingsPicture } from './lib/groupings-picture.mjs';
import { generator } from './lib/random.mjs';
import { announce, mustHold, printTable } from './lib/table.mjs';

const SIDE = 64;
const MAX_DISTANCE = 6;

await announce();
const points = pointsOfPlane();
const codes = Codes.allocate(points.length, { bits: 2 * SIDE });
points.forEach(([x, y], row) => {
  const code = codes.at(row);
  for (let bit = 0; bit < x; bit++) code[bit >> 3] |= 1 << (bit & 7);
  for (let bit = SIDE; bit < SIDE + y; bit++) code[bit >> 3] |= 1 << (bit & 7);
});
const [[ax, ay], [bx, by]] = points;
mustHold(codes.distance(0, 1) === Math.abs(ax - bx) + Math.abs(ay - by), 'codes and points');

const groupings = ['star', 'components'].map((grouping) => ({
  grouping,
  ...groupRows(codes, { maxDistance: MAX_DISTANCE, grouping }),
}));
printTable(
  `${points.length} points within distance ${MAX_DISTANCE}`,
  ['grouping', 'groups of 2 rows or more', 'rows in them', 'rows kept', 'widest group'],
  groupings.map(({ grouping, groups }) => {
    const grouped = groups.reduce((sum, { rows }) => sum + rows.length, 0);
    const widest = Math.max(...groups.map((group) => group.widest));
    return [grouping, groups.length, grouped, points.length - grouped + groups.length, widest];
  }),
);
const picture = groupingsPicture(points, SIDE, groupings);
writeFileSync(new URL('../docs/groupings.svg', import.meta.url), picture);

/** Three clusters, a chain that leads from one to another, and some points alone. */
function pointsOfPlane() {
  const { normal, below } = generator(11);
  const at = (x, y) => [x, y].map((one) => Math.min(SIDE - 1, Math.max(1, Math.round(one))));
  const all = [];
  for (const [x, y] of [
    [13, 15],
    [50, 14],
    [30, 50],
  ]) {
    for (let i = 0; i < 16; i++) all.push(at(x + 2.6 * normal(), y + 2.6 * normal()));
  }
  for (let x = 20; x <= 44; x += 4) all.push(at(x, 15 + (x % 3)));
  for (let i = 0; i < 8; i++) all.push([1 + below(SIDE - 2), 28 + below(12)]);
  return all;
}
