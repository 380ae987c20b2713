// What any engine must do: the golden codes, with the fast kernels, and one search.

import * as library from 'halfspace';
import { goldenDigests } from './golden.mjs';

export async function report() {
  const { SimHashIndex } = library;
  const index = new SimHashIndex({ bits: 64 }); // throws without WebAssembly
  index.add([1, 0, 0], 'a');
  index.add([0, 1, 0], 'b');
  const [id] = index.search([0.1, 1, 0], { k: 1 }).ids;
  return { digests: await goldenDigests(library), id };
}

// Workers of Cloudflare may compute only when they are called.
if (globalThis.navigator?.userAgent !== 'Cloudflare-Workers') {
  console.log(JSON.stringify(await report()));
}
