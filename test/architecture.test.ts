import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/** The floors of the house: imports go down only, and a dependency has one door (DESIGN.md). */
const src = fileURLToPath(new URL('../src/', import.meta.url));

/** From the ground up. A file may import of its own floor and of those before it. */
const FLOORS = [
  'ground', // check, format-error, long-call: no folder
  'kernels',
  'codes',
  'hashing',
  'text',
  'search',
  'groups',
  'index', // the door of the library
  'storage',
  'formats',
  'node', // the door for Node
  'cli',
];
const GROUND = ['check.ts', 'format-error.ts', 'long-call.ts'];
/** What the library's door must not reach, lest a browser load it. */
const NODE_ONLY = ['storage', 'formats', 'node', 'cli'];
/** Packages, and the folders or files that may import each. */
const DOORS: Record<string, string[]> = {
  'apache-arrow': ['codes'],
  'xxhash-wasm': ['text'],
  seedrandom: ['search', 'groups'],
  hyparquet: ['formats'],
  'hyparquet-writer': ['formats'],
};

const GENERATED = 'kernels/module.generated.ts';
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
  .sort();
const library = files.filter((file) => !file.startsWith('kernels/assembly/'));
const texts = new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]));

/** What a file imports or re-exports, types included. */
function importsOf(file: string): string[] {
  const text = texts.get(file) ?? '';
  const statement =
    /^\s*(?:import|export)\b[^;'"]*?\bfrom\s*['"]([^'"]+)['"]|^\s*import\s*['"]([^'"]+)['"]|\b(?:import|require)\(\s*['"]([^'"]+)['"]\s*\)/gm;
  return Array.from(text.matchAll(statement), ([, from, bare, call]) => from ?? bare ?? call);
}

/** The file in src that a relative import names. */
function resolved(file: string, specifier: string): string {
  const path = normalize(join(dirname(file), specifier)).replaceAll('\\', '/');
  const found = [`${path}.ts`, path, `${path}/index.ts`].find((one) => texts.has(one));
  if (found === undefined) throw new Error(`${file} imports ${specifier}, which is not in src/`);
  return found;
}

const isRelative = (specifier: string) => specifier.startsWith('.');
const relativeOf = (file: string) =>
  importsOf(file)
    .filter(isRelative)
    .map((specifier) => resolved(file, specifier));

function floorOf(file: string): string {
  if (GROUND.includes(file)) return 'ground';
  return file.includes('/') ? file.slice(0, file.indexOf('/')) : file.replace(/\.ts$/, '');
}

it('sees the imports', () => {
  expect(library.length).toBeGreaterThan(20);
  expect(importsOf('index.ts').length).toBeGreaterThan(8);
  expect(relativeOf('search/scan.ts')).toContain('codes/codes.ts');
  expect(importsOf('codes/arrow-codes.ts')).toContain('apache-arrow');
});

it('every file has a floor', () => {
  expect(library.filter((file) => !FLOORS.includes(floorOf(file)))).toEqual([]);
});

it('imports go down only', () => {
  const upwards = library.flatMap((file) => {
    const own = FLOORS.indexOf(floorOf(file));
    return relativeOf(file)
      .filter((other) => FLOORS.indexOf(floorOf(other)) > own)
      .map((other) => `${file} imports ${other}`);
  });
  expect(upwards).toEqual([]);
});

it('the ground floor stands on itself', () => {
  const imported = GROUND.flatMap((file) => [
    ...relativeOf(file),
    ...importsOf(file).filter((one) => !isRelative(one)),
  ]);
  expect(imported.filter((one) => !GROUND.includes(one))).toEqual([]);
});

it('the AssemblyScript imports itself only, and is imported by nothing', () => {
  for (const file of files) {
    const isAssembly = file.startsWith('kernels/assembly/');
    for (const other of relativeOf(file)) {
      expect([file, other.startsWith('kernels/assembly/')]).toEqual([file, isAssembly]);
    }
    if (isAssembly) expect(importsOf(file).filter((one) => !isRelative(one))).toEqual([]);
  }
});

it('nothing imports in a circle', () => {
  const done = new Set<string>();
  const visit = (file: string, path: string[]) => {
    if (path.includes(file)) throw new Error(`a circle: ${[...path, file].join(' > ')}`);
    if (done.has(file)) return;
    for (const other of relativeOf(file)) visit(other, [...path, file]);
    done.add(file);
  };
  expect(() => files.map((file) => visit(file, []))).not.toThrow();
  expect(done.size).toBe(files.length);
});

describe('the door of the library', () => {
  /** All that a file imports, and what that imports. */
  function reach(file: string, seen = new Set<string>()): Set<string> {
    if (!seen.has(file)) {
      seen.add(file);
      for (const other of relativeOf(file)) reach(other, seen);
    }
    return seen;
  }

  it('reaches nothing of Node, however far one goes', () => {
    for (const file of reach('index.ts')) {
      expect(NODE_ONLY).not.toContain(floorOf(file));
      expect([file, importsOf(file).filter((one) => one.startsWith('node:'))]).toEqual([file, []]);
    }
  });

  it.each(['index.ts', 'node.ts'])('is named re-exports and nothing else: %s', (file) => {
    const code = (texts.get(file) ?? '').replace(/\/\*[\s\S]*?\*\//g, '');
    const statements = code.split(';').filter((statement) => statement.trim() !== '');
    for (const statement of statements) {
      expect(statement.trim()).toMatch(/^export (type )?(\{[^}]*\}|\*) from '\.[^']*'$/);
      if (file === 'index.ts') expect(statement).not.toContain('*');
    }
  });
});

it('a package has one door, and Node is for the floors of Node', () => {
  const isAllowed = (file: string, specifier: string) => {
    if (specifier.startsWith('node:')) return NODE_ONLY.includes(floorOf(file));
    const doors = DOORS[specifier] ?? [];
    return doors.some((door) => file === door || file.startsWith(`${door}/`));
  };
  const wrong = library.flatMap((file) =>
    importsOf(file)
      .filter((specifier) => !isRelative(specifier) && !isAllowed(file, specifier))
      .map((specifier) => `${file} imports ${specifier}`),
  );
  expect(wrong).toEqual([]);
});

it('what src imports is in package.json, and the other way round', () => {
  const json = JSON.parse(readFileSync(join(src, '../package.json'), 'utf8'));
  const imported = new Set(
    library.flatMap(importsOf).filter((one) => !isRelative(one) && !one.startsWith('node:')),
  );
  expect([...imported].sort()).toEqual(Object.keys(json.dependencies).sort());
});

it('nothing is left to chance, nor to functions that engines compute differently', () => {
  // Codes must be the same everywhere, so they may not pass through these. angle.ts makes no codes,
  // scale.ts makes pictures, and segments.ts says that it differs.
  const chance = /Math\.random|getRandomValues|toLocale|localeCompare|\bIntl\./;
  const inexact = /Math\.(a?sinh?|a?cosh?|a?tanh?|atan2|log\w*|exp\w*|pow|cbrt|hypot)\b/;
  const wrong = library.filter((file) => {
    const code = (texts.get(file) ?? '').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    return (
      (file !== 'text/segments.ts' && chance.test(code)) ||
      (!['hashing/angle.ts', 'cli/report/scale.ts'].includes(file) && inexact.test(code))
    );
  });
  expect(wrong).toEqual([]);
});

describe('every file', () => {
  const written = files.filter((file) => file !== GENERATED);
  const linesOf = (file: string) => (texts.get(file) ?? '').trimEnd().split('\n');

  it('opens with a comment: the idea, the guarantee, the paper', () => {
    expect(written.filter((file) => !/^(\/\*\*|\/\/ )/.test(linesOf(file)[0]))).toEqual([]);
  });

  it('has at most 400 lines', () => {
    expect(written.filter((file) => linesOf(file).length > 400)).toEqual([]);
  });

  it('has lines of at most 100 columns', () => {
    const wide = written.flatMap((file) =>
      linesOf(file).flatMap((line, i) => ([...line].length > 100 ? [`${file}:${i + 1}`] : [])),
    );
    expect(wide).toEqual([]);
  });
});
