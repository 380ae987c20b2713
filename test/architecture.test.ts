import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const src = fileURLToPath(new URL('../src/', import.meta.url));

/** From the bottom up. A file imports from its own layer and from those before it. */
const LAYERS = [
  'base',
  'kernels',
  'threads',
  'vectors',
  'codes',
  'hashing',
  'table',
  'text',
  'k-means',
  'index',
  'store', // what reads an index from any place
  'near',
  'clusters',
  'measure',
  'explore/layout', // where rows lie on the map
  'worker.ts', // the entry point of worker threads
  'index.ts', // the entry point for browsers
  'explore', // what the page and its server share
  'explore/page', // runs in a browser
  'formats',
  'store on disk', // what writes and changes folders: the files of store/ in ON_DISK
  'node.ts', // the entry point for Node
  'cli', // with explore/server, which the command starts
];
/** What the entry point for browsers must not reach. */
const NODE_ONLY = ['formats', 'store on disk', 'node.ts', 'cli'];
/** The files of store/ that read or write a folder of this machine. */
const ON_DISK = [
  ...['change', 'evaluated-parts', 'folder-facts', 'folder-place', 'generations'],
  ...['index-folder', 'merge-folders', 'merge-segments', 'optimize-stored', 'verify'],
  'write-index',
].map((name) => `store/${name}.ts`);
/** Packages, and the layers that may import each. */
const PACKAGE_LAYERS: Record<string, string[]> = {
  'apache-arrow': ['table'],
  'hyparquet-writer': ['formats'],
  diff: ['explore/page'],
  'lit-html': ['explore/page'],
  seedrandom: ['base'],
};
/** Packages that are bundled, so that those who install us do not. */
const BUNDLED = ['diff', 'lit-html', 'seedrandom'];

const GENERATED = [
  'kernels/hash',
  'kernels/products',
  'kernels/relaxed',
  'kernels/search',
  'kernels/text',
  'kernels/zstd',
  'threads/worker',
].map((name) => `${name}.generated.ts`);
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
  .sort();
const library = files.filter((file) => !file.endsWith('.assembly.ts'));
const texts = new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]));

/** What a file imports or re-exports, types included. */
function importsOf(file: string): string[] {
  const text = texts.get(file) ?? '';
  const statement =
    /^\s*(?:import|export)\b[^;'"]*?\bfrom\s*['"]([^'"]+)['"]|^\s*import\s*['"]([^'"]+)['"]|\b(?:import|require)\(\s*['"]([^'"]+)['"]\s*\)/gm;
  return Array.from(text.matchAll(statement), ([, from, bare, call]) => from ?? bare ?? call).map(
    (specifier) => specifier.replace(/^([a-z-]+)\/.*/, '$1'), // a file of a package is the package
  );
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

const isAssembly = (file: string) => file.endsWith('.assembly.ts');

/** The longest name of a layer that the path begins with; its first folder where there is none. */
function layerOf(file: string): string {
  if (file.startsWith('explore/server/')) return 'cli';
  if (ON_DISK.includes(file)) return 'store on disk';
  const within = LAYERS.filter((layer) => file === layer || file.startsWith(`${layer}/`));
  return within.sort((a, b) => b.length - a.length)[0] ?? file.replace(/\/.*/, '');
}

it('sees the imports', () => {
  expect(library.length).toBeGreaterThan(20);
  expect(importsOf('index.ts').length).toBeGreaterThan(8);
  expect(relativeOf('codes/scan.ts')).toContain('codes/codes.ts');
  expect(importsOf('table/sealed/sealed-table.ts')).toContain('apache-arrow');
});

it('every file has a layer', () => {
  expect(library.filter((file) => !LAYERS.includes(layerOf(file)))).toEqual([]);
});

it('imports go down only', () => {
  const upwards = library.flatMap((file) => {
    const own = LAYERS.indexOf(layerOf(file));
    return relativeOf(file)
      .filter((other) => LAYERS.indexOf(layerOf(other)) > own)
      .map((other) => `${file} imports ${other}`);
  });
  expect(upwards).toEqual([]);
});

it('the AssemblyScript imports itself only, and is imported by nothing', () => {
  for (const file of files) {
    for (const other of relativeOf(file)) {
      expect([file, isAssembly(other)]).toEqual([file, isAssembly(file)]);
    }
    if (isAssembly(file)) expect(importsOf(file).filter((one) => !isRelative(one))).toEqual([]);
  }
});

it('no imports form a cycle', () => {
  const done = new Set<string>();
  const visit = (file: string, path: string[]) => {
    if (path.includes(file)) throw new Error(`a cycle: ${[...path, file].join(' > ')}`);
    if (done.has(file)) return;
    for (const other of relativeOf(file)) visit(other, [...path, file]);
    done.add(file);
  };
  expect(() => files.map((file) => visit(file, []))).not.toThrow();
  expect(done.size).toBe(files.length);
});

it('what searches, joins and groups codes reaches no apache-arrow in a bundle', () => {
  /** What stays after types are erased. */
  const bundled = (file: string) => {
    const text = (texts.get(file) ?? '').replace(/^(?:im|ex)port type [^;]*;/gm, '');
    return Array.from(text.matchAll(/\bfrom\s*'([^']+)'/g), ([, from]) => from);
  };
  const within = [
    ...['index/simhash-index.ts', 'codes/scan.ts', 'hashing/simhash.ts', 'vectors/scan-vectors.ts'],
    ...['near/pairs.ts', 'near/groups.ts', 'near/dedup.ts'],
    ...['clusters/cluster.ts', 'clusters/density.ts', 'text/text-hasher.ts'],
  ];
  expect(within.filter((file) => !texts.has(file))).toEqual([]);
  const paths = new Map(within.map((file) => [file, [file]]));
  for (const [file, path] of paths) {
    for (const specifier of bundled(file)) {
      expect([...path, specifier]).not.toContain('apache-arrow');
      const next = isRelative(specifier) ? resolved(file, specifier) : null;
      if (next !== null && !paths.has(next)) paths.set(next, [...path, next]);
    }
  }
  expect(paths.size).toBeGreaterThan(60);
});

describe('the entry point for browsers', () => {
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
      expect(NODE_ONLY).not.toContain(layerOf(file));
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

it('a package is imported by the layers that may, and Node by those for Node', () => {
  const isAllowed = (file: string, specifier: string) => {
    if (specifier.startsWith('node:')) return NODE_ONLY.includes(layerOf(file));
    return (PACKAGE_LAYERS[specifier] ?? []).includes(layerOf(file));
  };
  const wrong = library.flatMap((file) =>
    importsOf(file)
      .filter((specifier) => !isRelative(specifier) && !isAllowed(file, specifier))
      .map((specifier) => `${file} imports ${specifier}`),
  );
  expect(wrong).toEqual([]);
});

it('the page of explore imports nothing of the library', () => {
  const page = library.filter((file) => /^explore\/(page\/|[^/]+$)/.test(file));
  expect(page.length).toBeGreaterThan(6);
  const outside = page.flatMap(relativeOf).filter((other) => !page.includes(other));
  expect(outside).toEqual([]);
});

it('what src imports is in package.json, and the other way round', () => {
  const json = JSON.parse(readFileSync(join(src, '../package.json'), 'utf8'));
  const imported = new Set(
    library.flatMap(importsOf).filter((one) => !isRelative(one) && !one.startsWith('node:')),
  );
  expect([...imported].sort()).toEqual([...Object.keys(json.dependencies), ...BUNDLED].sort());
  expect(Object.keys(json.devDependencies)).toEqual(expect.arrayContaining(BUNDLED));
});

it('nothing uses unseeded random numbers or functions that engines compute differently', () => {
  // Codes must be the same everywhere, so they may not pass through these. measure.ts makes no codes,
  // explore/page makes pictures, mean-limits.ts rounds what it returns; hash-tables.ts decides nothing.
  const inexactFiles = ['base/mean-limits.ts', 'codes/measure.ts'];
  const chance = /Math\.random|getRandomValues|toLocale|localeCompare|\bIntl\./;
  const inexact = /Math\.(a?sinh?|a?cosh?|a?tanh?|atan2|log\w*|exp\w*|pow|cbrt|hypot)\b/;
  const wrong = library.filter((file) => {
    if (GENERATED.includes(file)) return false; // of sources that are checked
    const code = (texts.get(file) ?? '').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    return (
      (file !== 'base/hash-tables.ts' && chance.test(code)) ||
      (!inexactFiles.includes(file) && layerOf(file) !== 'explore/page' && inexact.test(code))
    );
  });
  expect(wrong).toEqual([]);
});

it('nothing asks what time it is: a clock may go back', () => {
  // explore/server/review.ts compares the time of a plan's file with the one before, for equality.
  const asks = files.filter((file) => {
    const code = (texts.get(file) ?? '').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    return !GENERATED.includes(file) && /Date\.now|new Date\(\)|\b[acm]time/.test(code);
  });
  expect(asks).toEqual(['explore/server/review.ts', 'formats/web-source.ts']);
});

describe('every file', () => {
  const written = files.filter((file) => !GENERATED.includes(file));
  const linesOf = (file: string) => (texts.get(file) ?? '').trimEnd().split('\n');

  it('opens with a comment: the idea, the guarantee, the paper', () => {
    expect(written.filter((file) => !/^(\/\*\*|\/\/ )/.test(linesOf(file)[0]))).toEqual([]);
  });

  it('has lines of at most 100 columns', () => {
    const wide = written.flatMap((file) =>
      linesOf(file).flatMap((line, i) => ([...line].length > 100 ? [`${file}:${i + 1}`] : [])),
    );
    expect(wide).toEqual([]);
  });
});
