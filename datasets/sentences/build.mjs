// Builds train.arrow, queries.arrow and truth.arrow, unless they are here as SHA256SUMS says.
//
//   node datasets/sentences/build.mjs          writes the files
//   node datasets/sentences/build.mjs --check  writes nothing; builds, and checks the files at hand

import { build, SEARCH_FILES } from '../lib/on-demand.mjs';

// Imported when they have to be made, so that a look at finished files needs no packages.
await build(new URL('.', import.meta.url), SEARCH_FILES, async () =>
  (await import('./make.mjs')).makeFiles(),
);
