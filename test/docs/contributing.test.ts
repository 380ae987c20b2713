import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from './examples';

it('docs/contributing.md names files that are there', () => {
  const page = readFileSync(join(root, 'docs/contributing.md'), 'utf8');
  const files = ['src', 'test', 'scripts', 'docs'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(
      (file) => `/${folder}/${file.replaceAll('\\', '/')}`,
    ),
  );
  const named = [...page.matchAll(/`([\w./-]+\.(?:ts|mjs|md|json|py))`/g)].map(([, name]) => name);
  const missing = named.filter(
    (name) => !name.includes('NAME') && !files.some((file) => file.endsWith(`/${name}`)),
  );
  expect(named.length).toBeGreaterThan(50);
  expect(missing).toEqual([]);
});
