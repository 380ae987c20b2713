// Builds people.arrow, unless it is here as SHA256SUMS says.
//
//   node datasets/people/build.mjs          writes the file
//   node datasets/people/build.mjs --check  writes nothing; builds, and checks the file at hand

import { build } from '../lib/on-demand.mjs';

// Imported when it has to be made, so that a look at a finished file needs no packages.
await build(new URL('.', import.meta.url), ['people.arrow'], async () =>
  (await import('./make.mjs')).makeFiles(),
);
