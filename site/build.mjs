// Builds the site into site/dist: the indexes that its page searches, then the pages.
//
// node site/build.mjs [--base /PATH/] [--command CLI]: where on its host the site will be, '/' by default;
// the command that makes the indexes, by default the one in dist/

import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'vitepress';
import { INDEXES } from './indexes.mjs';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const { values } = parseArgs({
  options: {
    base: { type: 'string', default: '/' },
    command: { type: 'string', default: at('../dist/cli.js') },
  },
});

mkdirSync(at('public'), { recursive: true });
copyFileSync(at('../datasets/sample/docs.jsonl'), at('public/docs.jsonl'));
for (const { folder, input, id, show } of INDEXES) {
  const [data, index] = [at(`../datasets/${input}`), at(`public/${folder}`)];
  if (!existsSync(data)) continue;
  const words = ['--vector', 'vector', '--id', id, '--columns', show ?? 'none'];
  words.push('--vectors', 'float32', '--optimize', '--recall', '0.95', '--force', '-o', index);
  const call = [values.command, 'index', data, ...words];
  execFileSync(process.execPath, call, { stdio: 'inherit' });
}
await build(at('.'), { base: values.base });
