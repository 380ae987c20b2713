// Builds messages.arrow and two passages, unless they are here as SHA256SUMS says.
//
//   node datasets/messages/build.mjs          writes the files
//   node datasets/messages/build.mjs --check  writes nothing; builds, and checks the files at hand

import { build } from '../lib/on-demand.mjs';

// Imported when they have to be made, so that a look at finished files needs no packages.
const files = ['messages.arrow', 'long.txt', 'short.txt'];
await build(new URL('.', import.meta.url), files, async () =>
  (await import('./make.mjs')).makeFiles(),
);
