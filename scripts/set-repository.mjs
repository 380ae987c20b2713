// Sets in package.json the repository, and the pages of the project and of its bugs that follow from
// it: `npm run release:repository -- https://github.com/OWNER/NAME`. Only the owner knows this value.

import { execFileSync } from 'node:child_process';

const [given = ''] = process.argv.slice(2);
const url = given.replace(/(\.git)?\/*$/, '');
if (!/^https:\/\/[^/]+\/.+\/.+$/.test(url)) {
  console.error(`the repository expected an address https://HOST/OWNER/NAME, got "${given}"`);
  process.exit(2);
}
const fields = [
  'repository.type=git',
  `repository.url=git+${url}.git`,
  `homepage=${url}#readme`,
  `bugs.url=${url}/issues`,
];
execFileSync('npm', ['pkg', 'set', ...fields], { stdio: 'inherit' });
