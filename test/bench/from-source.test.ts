import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
// @ts-expect-error: a script without types
import { fromSource } from '../../bench/lib/from-source.mjs';
import { root } from '../docs/examples';

/**
 * Benches of internals take functions of the sources by name. Two of them ended with "is not a
 * function" for months, since a function that was renamed was not missed by anything else.
 */
const taken = readdirSync(join(root, 'bench'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.mjs') && !file.includes('node_modules'))
  .flatMap((file) => {
    const text = readFileSync(join(root, 'bench', file), 'utf8');
    const calls = [...text.matchAll(/fromSource\(`([^`]*)`\)/g)];
    return calls.map(([, contents]) => [file, contents] as const);
  });

it('benches take functions of the sources', () => {
  expect(taken.length).toBeGreaterThan(2);
});

it.each(taken)('the sources have what bench/%s takes of them', async (_file, contents) => {
  const exported = await fromSource(contents);
  expect(Object.values(exported).every((one) => one !== undefined)).toBe(true);
});

it('a name that the sources do not have is named', async () => {
  const contents = `export { alea, noSuchDraw } from '../../src/base/random';`;
  await expect(fromSource(contents)).rejects.toThrow('the sources export no "noSuchDraw"');
});
