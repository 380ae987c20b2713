import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from './examples';

const page = readFileSync(join(root, 'docs/contributing.md'), 'utf8');

it('docs/contributing.md names files that are there', () => {
  const files = ['src', 'test', 'scripts', 'docs', 'python'].flatMap((folder) =>
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

it('docs/contributing.md names functions, types and constants that are there', () => {
  const code = ['src', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.generated.ts'))
      .map((file) => readFileSync(join(root, folder, file), 'utf8')),
  );
  const there = new Set(code.flatMap((text) => text.match(/[A-Za-z]\w*/g) ?? []));
  const parts = page.slice(page.indexOf('## How a query'), page.indexOf('## Words'));
  // `camelCase`, `PascalCase` or `UPPER_CASE`, also as `a.camelCase` or `camelCase(...)`.
  const named = [...parts.matchAll(/`(?:\w+\.)*([A-Za-z]*[A-Z]\w*)(?:\([^`]*\))?`/g)].map(
    ([, name]) => name,
  );
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((name) => !/NAME/.test(name) && !there.has(name))).toEqual([]);
});

it('llms.txt names pages that are there, and every guide', () => {
  const text = readFileSync(join(root, 'site/llms.txt'), 'utf8');
  const named = Array.from(text.matchAll(/\]\(([^)]+)\)/g), ([, path]) => path);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  const pages = readdirSync(join(root, 'docs')).filter((file) => file.endsWith('.md'));
  expect(named.sort()).toEqual(pages.map((file) => `docs/${file}`).sort());
});
