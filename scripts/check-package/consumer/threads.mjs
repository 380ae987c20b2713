// Calls on three threads against the same on one, of the packed library on any engine.

/**
 * Whether each has equal answers, how many workers started, and whether the page is isolated
 * (undefined where there is no page).
 * @param library the namespace of 'halfspace'
 */
export async function threads(library) {
  const dimensions = 32;
  const values = Float32Array.from({ length: 4000 * dimensions }, (_, i) => Math.sin(i * i));
  const rows = { values, dimensions };
  const queries = { values: values.slice(0, 40 * dimensions), dimensions };
  const index = new library.SimHashIndex({ bits: 256, dimensions, vectors: 'float32' });
  await index.addAll(rows);
  const near = { maxDistance: 40 };
  const texts = Array.from({ length: 1500 }, (_, i) =>
    `text ${i} of ${i % 7} and ${i % 11}`.repeat(20),
  );
  const search = { rank: 'hamming' };
  const [one, many] = [{ threads: 1 }, { threads: 3 }];
  const hasher = new library.TextHasher();
  const stopCounting = countWorkers();
  const text = (value) =>
    JSON.stringify(value, (_, one) => (ArrayBuffer.isView(one) ? [...one].join() : one));
  const [alone, listed] = [[], []];
  for await (const batch of library.pairs(index, { ...near, threads: 1 })) alone.push(batch);
  for await (const batch of library.pairs(index, { ...near, ...many })) listed.push(batch);
  const pairs = [
    [(await index.hasher.hashAll(rows, one)).bytes, (await index.hasher.hashAll(rows, many)).bytes],
    [(await hasher.hashAll(texts, one)).bytes, (await hasher.hashAll(texts, many)).bytes],
    [await index.searchAll(queries, one), await index.searchAll(queries, many)],
    [alone, listed],
    [
      await index.searchAll(queries, { ...search, ...one }),
      await index.searchAll(queries, { ...search, ...many }),
    ],
    [await library.clusterByDensity(index, one), await library.clusterByDensity(index, many)],
  ];
  await library.closeThreads();
  const isEqual = pairs.every(([one, other]) => text(one) === text(other));
  return { isEqual, workers: stopCounting(), isIsolated: globalThis.crossOriginIsolated };
}

/** What calls throw whose number of threads is wrong. */
export async function refusals({ SimHasher }) {
  const call = (threads) => new SimHasher({ bits: 64 }).hashAll([[1]], { threads });
  const found = await Promise.allSettled([0, -1, 'many', 10_000].map(call));
  return found.map(({ reason }) => reason?.message);
}

/** Counts the workers that start until the returned function is called, which tells how many. */
function countWorkers() {
  let workers = 0;
  const count = () => {
    workers++;
  };
  const Plain = globalThis.Worker;
  if (Plain === undefined) {
    globalThis.process?.on('worker', count);
    return () => workers;
  }
  globalThis.Worker = class extends Plain {
    constructor(...given) {
      super(...given);
      count();
    }
  };
  return () => {
    globalThis.Worker = Plain;
    return workers;
  };
}
