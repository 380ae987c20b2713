// The main job, from an Arrow file to nearest neighbours: on the nouns that ship with the repository, or
// on a file of yours: npm run demo -- FILE [--column VECTORS] [--id NAMES] [--query NAME] [--bits 256]

import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { estimateAngle, SimHasher, scan, scanAll, scanVectors, scanVectorsAll } from 'halfspace';
import { readVectors } from 'halfspace/node';

const nouns = fileURLToPath(new URL('../datasets/nouns/nouns.arrow', import.meta.url));
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    column: { type: 'string' },
    id: { type: 'string' },
    query: { type: 'string', multiple: true },
    bits: { type: 'string', default: '256' },
  },
});
const [file = nouns] = positionals;
const isNouns = file === nouns;

const { column, id = isNouns ? 'word' : undefined } = options;
const start = performance.now();
const { vectors, ids } = await readVectors(file, { ...(column && { column }), ...(id && { id }) });
const count = vectors.values.length / vectors.dimensions;
const name = (row) => String(ids?.[row] ?? `row ${row}`);
const read = performance.now();

const hasher = new SimHasher({
  bits: Number(options.bits),
  dimensions: vectors.dimensions,
  projection: 'hadamard',
  zero: 'null',
});
const codes = await hasher.hashAll(vectors);
const hashed = performance.now();
console.log(
  `${relative('.', file)}: ${count} vectors of ${vectors.dimensions} dimensions, read in ` +
    `${(read - start).toFixed(0)} ms, hashed to ${codes.bits} bits in ${(hashed - read).toFixed(0)} ms ` +
    `(${codes.bytesPerCode} bytes each instead of ${vectors.dimensions * 4} as float32)\n`,
);

const wanted = options.query ?? (isNouns ? ['guitar', 'monday', 'nurse', 'violin'] : []);
const rows = wanted.map((text) => {
  const row = Array.from({ length: count }, (_, i) => i).find((i) => name(i) === text);
  if (row === undefined) {
    console.error(`No row is called "${text}"; --id names the column that --query looks in.`);
    process.exit(1);
  }
  return row;
});
if (rows.length === 0) for (let row = 0; row < Math.min(3, count); row++) rows.push(row);

for (const row of rows) {
  if (codes.isNull(row)) continue;
  const near = scan(codes, codes.at(row), { k: 6 });
  const from = row * vectors.dimensions;
  const query = vectors.values.subarray(from, from + vectors.dimensions);
  const exact = scanVectors(vectors, query, { k: count });
  const cosines = new Map(Array.from(exact.rows, (other, i) => [other, exact.cosines[i]]));
  console.log(name(row));
  near.rows.forEach((other, i) => {
    if (other === row) return;
    const distance = near.distances[i];
    console.log(
      `  ${name(other).padEnd(20)} distance ${String(distance).padStart(3)}` +
        `   cosine: estimated ${estimateAngle(distance, codes.bits).estimatedCosine.toFixed(2)}` +
        `, exact ${cosines.get(other).toFixed(2)}`,
    );
  });
}

// How much of the truth the codes find: the ten nearest by distance against the ten by exact cosine.
const sample = Array.from({ length: Math.min(200, count) }, (_, i) =>
  Math.floor((i * count) / Math.min(200, count)),
).filter((row) => !codes.isNull(row));
const width = vectors.dimensions;
const queries = new Float64Array(sample.length * width);
sample.forEach((row, i) => {
  queries.set(vectors.values.subarray(row * width, (row + 1) * width), i * width);
});
const truth = await scanVectorsAll(vectors, { values: queries, dimensions: width }, { k: 10 });
const before = performance.now();
const found = await scanAll(codes, await hasher.hashAll({ values: queries, dimensions: width }), {
  k: 10,
});
const took = performance.now() - before;
let hits = 0;
let all = 0;
truth.forEach((neighbors, i) => {
  const nearest = new Set(found[i].rows);
  for (const row of neighbors.rows) hits += Number(nearest.has(row));
  all += neighbors.rows.length;
});
console.log(
  `\nOf the 10 nearest by exact cosine, ${codes.bits}-bit codes alone find ` +
    `${((100 * hits) / all).toFixed(0)} % (${sample.length} queries, ` +
    `${(took / sample.length).toFixed(2)} ms each). More bits find more: --bits 1024.`,
);
