// Who takes part in the contest of neighbors by cosine: parameters of the build, and the efforts of a
// search, cheap ones first. What a rival's documentation or its authors' benchmarks use, where there is
// such a thing; the k of k nearest is 10.

import { existsSync, readFileSync } from 'node:fs';

const EF = [10, 16, 24, 40, 64, 100, 160, 250, 400, 700, 1200].map((ef) => ({ ef }));

/** Every first with every second, by their product. */
const grid = (names, firsts, seconds) =>
  firsts
    .flatMap((one) => seconds.map((other) => ({ [names[0]]: one, [names[1]]: other })))
    .sort((a, b) => a[names[0]] * a[names[1]] - b[names[0]] * b[names[1]]);

/** Numbers that depend on the rows and dimensions: lists of IVF, leaves of ScaNN. */
const TUNED = {
  glove: { lists: 1024, leaves: 1500 },
  images: { lists: 256, leaves: 400 },
  sentences: { lists: 1024, leaves: 1500 },
  '100k': { lists: 512, leaves: 800 },
  '1m': { lists: 2048, leaves: 2500 },
};

/**
 * `{ name, host, parameters, efforts, graph }`: `host` is the process that it runs in, `graph` the
 * contender whose file it reads where it builds none; `isRebuilt` where it is quick to build.
 */
export function contendersFor(set, dimensions) {
  const { lists, leaves } = TUNED[set];
  const faissHnsw = (M) => ({
    name: `FAISS HNSW${M}`,
    host: 'python',
    engine: 'faiss_hnsw',
    parameters: { M, efConstruction: 200 },
    efforts: EF,
  });
  return [
    {
      name: 'halfspace',
      host: 'node',
      engine: 'halfspace',
      parameters: { bits: 256, projection: 'hadamard', vectors: 'float32' },
      efforts: grid(
        ['probes', 'oversample'],
        [4, 8, 16, 32, 64, 128, 256, 512, 1024],
        [2, 4, 8, 16, 32],
      ),
      isRebuilt: true,
    },
    {
      name: 'ScaNN',
      host: 'python',
      engine: 'scann',
      parameters: { leaves, soar: 1.5, dimensionsPerBlock: 2 },
      efforts: grid(['leaves', 'reorder'], [4, 8, 16, 32, 64, 128, 256, 512], [40, 100, 250]),
    },
    {
      name: 'FAISS IVF-PQ',
      host: 'python',
      engine: 'faiss_ivf',
      parameters: { factory: `IVF${lists},PQ${dimensions / 2}x4fs,Refine(SQfp16)` },
      efforts: grid(['nprobe', 'k_factor'], [4, 8, 16, 32, 64, 128, 256, 512], [4, 10, 25]),
      isRebuilt: true,
    },
    faissHnsw(16),
    faissHnsw(32),
    {
      name: 'hnswlib-node',
      host: 'node',
      engine: 'hnswlib',
      parameters: { m: 16, efConstruction: 200 },
      efforts: EF,
      hasNoBatch: true,
    },
    {
      name: 'hnswlib',
      host: 'python',
      engine: 'hnswlib',
      parameters: { m: 16, efConstruction: 200 },
      efforts: EF,
      graph: 'hnswlib-node',
    },
    {
      name: 'usearch',
      host: 'node',
      engine: 'usearch',
      // expansion_add is usearch's own default, written out.
      parameters: { connectivity: 16, expansion_add: 128 },
      efforts: EF,
      hasNoBatch: true,
    },
  ];
}

/** The installed version of a package of npm or PyPI, or null. */
export function versionOf({ name, host, engine }, pythonVersions) {
  if (host === 'python') return pythonVersions?.[engine.split('_')[0]] ?? null;
  const folder = name === 'halfspace' ? '../..' : `../node_modules/${name}`;
  const about = new URL(`${folder}/package.json`, import.meta.url);
  return existsSync(about) ? JSON.parse(readFileSync(about, 'utf8')).version : null;
}
