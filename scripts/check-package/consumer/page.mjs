// The packed library in a browser: one bundle for the page and for its worker.

import * as library from 'halfspace';
import { goldenDigests } from './golden.mjs';
import { job } from './job.mjs';
import { refusals, threads } from './threads.mjs';

/** What this engine comes to; codes of sets only where there is WebAssembly. */
async function report(withSets = true) {
  const digests = await goldenDigests(library, withSets);
  return { digests, job: await job(library) };
}

/** The same from a worker of this page. */
function reportOfWorker() {
  return new Promise((resolve, reject) => {
    const worker = new Worker('/page.js', { type: 'module' });
    worker.onerror = (event) => reject(new Error(event.message || 'the worker did not start'));
    worker.onmessage = ({ data }) => {
      worker.terminate();
      if (data.error) reject(new Error(data.error));
      else resolve(data);
    };
    worker.postMessage('report');
  });
}

/** What an index says that needs WebAssembly: '' where it is there, or the error's message. */
function missing() {
  try {
    new library.SimHashIndex({ bits: 64 });
    return '';
  } catch (error) {
    return error.message;
  }
}

if (typeof document === 'undefined') {
  addEventListener('message', () => {
    report().then(postMessage, (error) => postMessage({ error: String(error) }));
  });
} else {
  globalThis.packed = {
    report,
    reportOfWorker,
    missing,
    threads: () => threads(library),
    refusals: () => refusals(library),
  };
}
