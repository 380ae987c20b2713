// Builds poems.arrow and pairs.arrow, unless they are here as SHA256SUMS says.
//
//   node datasets/poems/build.mjs          writes the files
//   node datasets/poems/build.mjs --check  writes nothing; builds, and checks the files at hand

import { build } from '../lib/on-demand.mjs';

// Imported when they have to be made, so that a look at finished files needs no packages.
await build(new URL('.', import.meta.url), ['poems.arrow', 'pairs.arrow'], async () =>
  (await import('./make.mjs')).makeFiles(),
);
