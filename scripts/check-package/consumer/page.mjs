// The packed library in a browser: one bundle for the page and for its worker.

import * as library from 'halfspace';
import { goldenDigests } from './golden.mjs';
import { job } from './job.mjs';
import { refusals, threads } from './threads.mjs';

/** What this engine comes to by a kernel; codes of sets only where there is WebAssembly. */
async function report(kernel, withSets = true) {
  const digests = await goldenDigests(library, kernel, withSets);
  return { digests, job: await job(library, kernel) };
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

if (typeof document === 'undefined') {
  addEventListener('message', ({ data }) => {
    report(data).then(postMessage, (error) => postMessage({ error: String(error) }));
  });
} else {
  globalThis.packed = {
    report,
    reportOfWorker,
    force,
    threads: () => threads(library),
    refusals: () => refusals(library),
  };
}
