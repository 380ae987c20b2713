// The packed library in a browser: one bundle for the page and for its worker.

import * as library from 'halfspace';
import { goldenDigests } from './golden.mjs';
import { job } from './job.mjs';

/** What this engine comes to; `kernel` as HALFSPACE_KERNEL has it. */
async function report(kernel) {
  globalThis.process = { env: { HALFSPACE_KERNEL: kernel } };
  try {
    return { digests: await goldenDigests(library), job: await job(library) };
  } finally {
    delete globalThis.process;
  }
}

/** The same from a worker of this page. */
function reportOfWorker(kernel) {
  return new Promise((resolve, reject) => {
    const worker = new Worker('/page.js', { type: 'module' });
    worker.onerror = (event) => reject(new Error(event.message || 'the worker did not start'));
    worker.onmessage = ({ data }) => {
      worker.terminate();
      if (data.error) reject(new Error(data.error));
      else resolve(data);
    };
    worker.postMessage(kernel);
  });
}

/** What happens when a kernel is asked for: its name, or the error's message. */
function force(kernel) {
  try {
    new library.SimHasher({ kernel }).hash([1, 2, 3]);
    return kernel;
  } catch (error) {
    return error.message;
  }
}

/**
 * Calls on three threads against the synchronous ones: whether each has equal answers, whether the page
 * is isolated, and how many workers started.
 */
async function threads() {
  const dimensions = 32;
  const values = Float32Array.from({ length: 20_000 * dimensions }, (_, i) => Math.sin(i * i));
  const rows = { values, dimensions };
  const queries = { values: values.slice(0, 40 * dimensions), dimensions };
  const index = new library.SimHashIndex({ bits: 256, dimensions, vectors: 'float32' });
  index.addAll(rows);
  const near = { maxDistance: 40 };
  const texts = Array.from({ length: 3000 }, (_, i) =>
    `text ${i} of ${i % 7} and ${i % 11}`.repeat(20),
  );
  const [search, lists, many] = [{ method: 'scan', rank: 'hamming' }, { k: 5 }, { threads: 3 }];
  const hasher = new library.TextHasher();
  let workers = 0;
  const Plain = globalThis.Worker;
  globalThis.Worker = class extends Plain {
    constructor(...given) {
      super(...given);
      workers++;
    }
  };
  const text = (value) =>
    JSON.stringify(value, (_, one) => (ArrayBuffer.isView(one) ? [...one].join() : one));
  const listed = [];
  for await (const batch of library.pairs(index, { ...near, ...many })) listed.push(batch);
  const pairs = [
    [index.hasher.hashAll(rows).bytes, (await index.hasher.hashAllAsync(rows, many)).bytes],
    [hasher.hashAll(texts).bytes, (await hasher.hashAllAsync(texts, many)).bytes],
    [index.searchAll(queries), await index.searchAllAsync(queries, many)],
    [[...library.pairs(index, near)], listed],
    [index.searchAll(queries, search), await index.searchAllAsync(queries, { ...search, ...many })],
    [
      library.neighborLists(index, lists),
      await library.neighborListsAsync(index, { ...lists, ...many }),
    ],
  ];
  await library.closeThreads();
  globalThis.Worker = Plain;
  const isEqual = pairs.every(([one, other]) => text(one) === text(other));
  return { isEqual, workers, isIsolated: globalThis.crossOriginIsolated };
}

if (typeof document === 'undefined') {
  addEventListener('message', ({ data }) => {
    report(data).then(postMessage, (error) => postMessage({ error: String(error) }));
  });
} else {
  globalThis.packed = { report, reportOfWorker, force, threads };
}
