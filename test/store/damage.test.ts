// @module-tag full

import { beforeAll, describe, expect, it } from 'vitest';
import { bundled } from './child';
import type { FileDamage } from './damage.child';

/** Every file of an index folder, cut and changed at one byte after another, one at a time. */

const LIMIT_MS = 5000; // of the processor, thousands of times what it takes: a loop without end is found

describe('a file of an index folder that is cut, changed or gone', () => {
  let files: FileDamage[] = [];

  beforeAll(async () => {
    const start = await bundled('damage.child.ts');
    const child = start([], ['--max-old-space-size=96']);
    const timer = setTimeout(() => child.process.kill('SIGKILL'), 900_000);
    expect([await child.end, child.output.stderr]).toEqual([0, '']);
    clearTimeout(timer);
    files = JSON.parse(child.output.stdout);
  }, 920_000);

  it('is of every kind there is', () => {
    const kinds = new Set(files.map(({ name }) => name.replace(/-.*/, '')));
    expect([...kinds].sort()).toEqual(
      ['blocks', 'codes', 'columns', 'frequencies', 'hashes', 'manifest']
        .concat(['manifest.json', 'removed', 'rows', 'space', 'vectors'])
        .sort(),
    );
  });

  it('gives an error that names it, or the answers are as before', () => {
    expect(files.flatMap(({ name, failures }) => failures.map((one) => `${name}: ${one}`))).toEqual(
      [],
    );
    for (const { name, bytes, opened, cuts, used, refused, equal } of files) {
      expect([name, refused + equal]).toEqual([name, opened]);
      expect([name, refused >= used]).toEqual([name, true]);
      // Every byte of a manifest was changed. Of the copy for people none is used.
      const least = name.startsWith('manifest-') ? bytes : 100;
      expect([name, opened - cuts > least]).toEqual([name, true]);
      if (name.startsWith('columns-')) expect([name, refused > 0.8 * opened]).toEqual([name, true]);
      else if (name !== 'manifest.json') expect([name, used > cuts + 1]).toEqual([name, true]);
      if (name === 'manifest.json') expect([name, refused]).toEqual([name, 0]);
    }
  });

  it('is found damaged without much work', () => {
    for (const { name, slowestMs } of files)
      expect([name, slowestMs < LIMIT_MS]).toEqual([name, true]);
  });
});
