// Builds GloVe in other sizes, unless the files are here as SHA256SUMS says.
//
//   node datasets/sizes/build.mjs          writes the files
//   node datasets/sizes/build.mjs --check  writes nothing; builds, and checks the files at hand

import { build } from '../lib/on-demand.mjs';

const FILES = ['100k-train.arrow', '100k-truth.arrow', '1m-train.arrow', '1m-truth.arrow'];

// Imported when they have to be made, so that a look at finished files needs no packages.
await build(new URL('.', import.meta.url), FILES, async () =>
  (await import('./make.mjs')).makeFiles(),
);
