import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { expect, it } from 'vitest';
import type { readFile } from '../../site/demo/file';
import { root } from '../docs/examples';

/** As site/.vitepress/config.mjs: names that the stand-in lacks are undefined, not an error. */
const standsIn: Plugin = {
  name: 'stands-in',
  setup(build) {
    const standIn = JSON.stringify(join(root, 'site/demo/node-stand-in.mjs'));
    build.onResolve({ filter: /^node:|^\.\/(npy|shards|web-source)$/ }, () => {
      return { path: 'node', namespace: 'stand-in' };
    });
    build.onLoad({ filter: /.*/, namespace: 'stand-in' }, () => {
      return { contents: `module.exports = require(${standIn})`, resolveDir: root };
    });
  },
};

it('the page of the site loads the readers without Node, and reads a dropped file', async () => {
  const { outputFiles } = await build({
    entryPoints: [join(root, 'site/demo/file.ts')],
    bundle: true,
    format: 'iife',
    globalName: 'page',
    write: false,
    plugins: [standsIn],
  });
  const load = new Function('process', 'require', `${outputFiles[0].text}; return page.readFile;`);
  const read = load() as typeof readFile;
  const lines = '{"id": 9007199254740993, "body": "tea"}\n{"id": 2, "body": "coffee"}\n';
  const { rows, columns } = await read(new File([lines], 'a.jsonl'), new AbortController().signal);
  expect(rows.texts('body')).toEqual(['tea', 'coffee']);
  expect(columns).toMatchObject([{ name: 'body', kind: 'text' }]);
});
