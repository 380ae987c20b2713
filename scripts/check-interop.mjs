// Opens what we write in pyarrow, Polars and DuckDB, reads what they and NumPy write, searches an
// index folder by docs/format.md alone, and runs the recipes of docs/with.md as they stand there. Values
// must be equal. The programs are installed from PyPI into a virtual environment; without Python it says
// loudly that nothing was checked, and fails where CI is set.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check, root, run, runChecks } from './lib/checks.mjs';

const scripts = fileURLToPath(new URL('check-interop/', import.meta.url));
const environment = join(root, 'node_modules/.cache/halfspace-interop');
const python = join(environment, 'bin/python');

const folder = await mkdtemp(join(tmpdir(), 'halfspace-interop-'));
let library;

/** Installs what requirements.txt names, unless it is there. */
async function installPrograms() {
  const wanted = await readFile(join(scripts, 'requirements.txt'), 'utf8');
  const stamp = join(environment, 'requirements.txt');
  if (!existsSync(stamp) || (await readFile(stamp, 'utf8')) !== wanted) {
    await run('python3', ['-m', 'venv', '--clear', environment]);
    const install = ['-m', 'pip', 'install', '--quiet', '--no-compile'];
    await run(python, [...install, '-r', join(scripts, 'requirements.txt')]);
    await writeFile(stamp, wanted);
  }
  return wanted.trim().replaceAll('\n', ', ');
}

const hex = (bytes) => (bytes === null ? null : Buffer.from(bytes).toString('hex'));

/** Vectors of float32 that any program can write as text and read again. */
function vectorsOf(count, dimensions) {
  return Array.from({ length: count }, (_, row) =>
    Array.from({ length: dimensions }, (_, i) => (((row + 3) * (i + 7) * 37) % 101) / 8 - 6),
  );
}

const matrixOf = (vectors) => ({
  values: Float32Array.from(vectors.flat()),
  dimensions: vectors[0].length,
});

/** Our files, and the rows that must be read from each. */
async function writeOurs() {
  const { Codes, SimHasher, SimHashIndex, dedup, pairs } = library;
  const { IndexFolder, createRows, RowBatch } = library;
  const files = [];
  const add = (name, rows) => files.push({ path: join(folder, name), rows });
  const vectors = vectorsOf(40, 6);
  const ids = vectors.map((_, i) => `row ${i}`);
  const hasher = new SimHasher({ bits: 100, dimensions: 6, projection: 'hadamard' });
  const all = await hasher.hashAll(matrixOf(vectors));
  const codes = Codes.from(all.bytes, {
    bits: 100,
    validity: Uint8Array.of(0xfd, 255, 255, 255, 255),
  });
  const codeOf = (i) => (codes.isNull(i) ? null : hex(codes.at(i)));

  await writeFile(join(folder, 'codes.arrow'), library.codesToArrow(codes, { ids }));
  add(
    'codes.arrow',
    ids.map((id, i) => ({ id, code: codeOf(i) })),
  );

  const carried = RowBatch.of({ id: ids, number: Int32Array.from(ids.keys()), code: all });
  for (const ending of ['arrow', 'arrows', 'parquet']) {
    const rows = await createRows(join(folder, `rows.${ending}`));
    await rows.write(carried);
    await rows.close();
    add(
      `rows.${ending}`,
      ids.map((id, number) => ({ id, number, code: hex(all.at(number)) })),
    );
  }

  const near = { a: [], b: [], distance: [] };
  for await (const batch of pairs(all, { maxDistance: 30 })) {
    near.a.push(...batch.a);
    near.b.push(...batch.b);
    near.distance.push(...batch.distances);
  }
  assert.ok(near.a.length > 10, 'few pairs');
  const written = await createRows(join(folder, 'pairs.arrows'));
  await written.write(
    RowBatch.of({
      a: Uint32Array.from(near.a),
      b: Uint32Array.from(near.b),
      distance: Uint16Array.from(near.distance),
    }),
  );
  await written.close();
  add(
    'pairs.arrows',
    near.a.map((a, i) => ({ a, b: near.b[i], distance: near.distance[i] })),
  );

  const plan = await dedup(all, { maxDistance: 30 });
  await library.writePlan(join(folder, 'plan.arrow'), plan, { ids });
  const actions = ['drop', 'keep'];
  add(
    'plan.arrow',
    ids.map((id, row) => ({
      ...{ row, id, group: plan.groups[row], action: actions[plan.kept[row]] },
      ...{ duplicate_of: plan.duplicateOf[row], distance: plan.distances[row] },
    })),
  );

  // A folder with two segments of rows, removed rows and carried columns.
  const stored = join(folder, 'stored.hs');
  const index = new SimHashIndex({ bits: 64, dimensions: 6, vectors: 'float32' });
  await index.addAll(matrixOf(vectors.slice(0, 30)), ids.slice(0, 30));
  const numbers = Int32Array.from({ length: 30 }, (_, i) => 100 + i);
  await library.saveIndex(index, stored, { columns: RowBatch.of({ number: numbers }) });
  await (await IndexFolder.open(stored)).append(matrixOf(vectors.slice(30)), ids.slice(30), {
    columns: RowBatch.of({ number: Int32Array.from({ length: 10 }, (_, i) => 130 + i) }),
  });
  await (await IndexFolder.open(stored)).remove(['row 3', 'row 33']);
  const signs = new SimHasher({ bits: 64, dimensions: 6 });
  const rowOf = (i) => ({ id: ids[i], code: hex(signs.hash(vectors[i])) });
  const segments = (await IndexFolder.open(stored)).files;
  const byKind = (kind) => segments.filter((file) => file.kind === kind).map(({ name }) => name);
  const [first, second] = byKind('rows');
  add(
    join('stored.hs', first),
    ids.slice(0, 30).map((_, i) => rowOf(i)),
  );
  add(
    join('stored.hs', second),
    ids.slice(30).map((_, i) => rowOf(30 + i)),
  );
  byKind('vectors').forEach((name, i) => {
    const own = i === 0 ? vectors.slice(0, 30) : vectors.slice(30);
    add(
      join('stored.hs', name),
      own.map((vector) => ({ vector })),
    );
  });
  const [one, other] = byKind('columns');
  add(
    join('stored.hs', one),
    Array.from(numbers, (number) => ({ number })),
  );
  add(
    join('stored.hs', other),
    Array.from({ length: 10 }, (_, i) => ({ number: 130 + i })),
  );
  const [removed] = byKind('removed');
  add(join('stored.hs', removed), [{ row: 3 }, { row: 33 }]);
  return files;
}

/** By file and program the rows that it reads there. */
async function readAll(paths) {
  return JSON.parse(await run(python, [join(scripts, 'read.py'), ...paths]));
}

/** Columns of ours that a test has no independent values for are left out. */
function only(rows, expected) {
  const names = Object.keys(expected[0]);
  return rows.map((row) => Object.fromEntries(names.map((name) => [name, row[name]])));
}

async function checkTheirs() {
  const given = vectorsOf(25, 5).map((vector, i) => ({ id: `n${i}`, number: 2 ** 40 + i, vector }));
  const rowsFile = join(folder, 'given.json');
  const theirs = join(folder, 'theirs');
  await mkdir(theirs);
  await writeFile(rowsFile, JSON.stringify(given));
  await run(python, [join(scripts, 'write.py'), rowsFile, theirs]);
  const { SimHasher } = library;
  const hasher = new SimHasher({ bits: 128, dimensions: 5, projection: 'hadamard' });
  const expected = given.map(({ vector }) => hex(hasher.hash(vector)));
  const names = (await readdir(theirs)).sort();
  assert.ok(names.length >= 12, `only ${names}`);
  const outOf = (name) => join(theirs, `${name}.codes.arrow`);
  for (const name of names) {
    await check(`reads ${name}`, async () => {
      const out = outOf(name);
      const words = ['fingerprint', join(theirs, name), '--vector', 'vector', '--bits', '128'];
      const hashing = ['--projection', 'hadamard', '-o', out, '--quiet'];
      await run(process.execPath, [join(root, 'dist/cli.js'), ...words, ...hashing]);
      const { codes } = library.codesFromArrow(await readFile(out));
      assert.deepEqual(
        Array.from({ length: codes.count }, (_, i) => hex(codes.at(i))),
        expected,
      );
    });
  }
  await check('carries their columns', async () => {
    const carried = given.map(({ id, number }) => ({ id, number }));
    const withColumns = names.filter((name) => !name.startsWith('numpy')).map(outOf);
    for (const [path, { pyarrow }] of Object.entries(await readAll(withColumns))) {
      assert.deepEqual(only(pyarrow, carried), carried, path);
    }
  });
}

/** Answers of a reader that was written from docs/format.md alone, and of the command. */
async function checkSearches() {
  const [count, dimensions] = [6000, 16];
  let state = 1;
  const draw = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
  const centres = Array.from({ length: 50 }, () => Array.from({ length: dimensions }, draw));
  const values = new Float32Array(count * dimensions);
  for (let i = 0; i < values.length; i++) {
    const row = Math.floor(i / dimensions);
    values[i] = centres[row % centres.length][i % dimensions] + 0.3 * draw();
  }
  const ids = Array.from({ length: count }, (_, i) => `row ${i}`);
  const given = join(folder, 'searched.parquet');
  const rows = await library.createRows(given);
  await rows.write(library.RowBatch.of({ id: ids, vector: { values, dimensions } }));
  await rows.close();
  const cli = (...words) => run(process.execPath, [join(root, 'dist/cli.js'), ...words]);
  for (const vectors of ['float32', 'int8']) {
    const stored = join(folder, `searched-${vectors}.hs`);
    const making = ['--vector', 'vector', '--vectors', vectors, '--optimize', '--quiet'];
    await cli('index', given, ...making, '-o', stored);
    await (await library.IndexFolder.open(stored)).remove(ids.slice(10, 40));
    await check(`searches ${vectors} vectors of a folder by docs/format.md`, async () => {
      const asked = ['row 7', 'row 2500', 'row 5999'];
      const found = await run(python, [join(scripts, 'search.py'), stored, '5', ...asked]);
      for (const [i, id] of asked.entries()) {
        // Asked for 50, the command re-ranks ten times as many: its first 5 are those of all rows.
        const answer = await cli('search', stored, '--row-id', id, '-k', '50', '--json');
        const lines = answer.trim().split('\n');
        const theirs = lines.slice(0, 5).map((line) => JSON.parse(line));
        const own = JSON.parse(found)[i];
        assert.deepEqual(
          own.map((row) => row.id),
          theirs.map((row) => row.id),
        );
        own.forEach(({ cosine }, i) => {
          assert.ok(Math.abs(cosine - theirs[i].cosine) < 1e-6, `${cosine}, ${theirs[i].cosine}`);
        });
        assert.equal(own.length, 5);
      }
    });
  }
}

/** Lists with and without nulls, in every way that pyarrow packs them. */
async function checkLists() {
  const lists = join(folder, 'lists');
  await mkdir(lists);
  await run(python, [join(scripts, 'lists.py'), lists]);
  const names = (await readdir(lists)).filter((name) => name.endsWith('.parquet'));
  assert.equal(names.length, 80);
  await check(`reads ${names.length} Parquet files of lists`, async () => {
    for (const name of names) {
      const path = join(lists, name);
      const expected = JSON.parse(await readFile(path.replace('.parquet', '.json'), 'utf8'));
      const found = [];
      for await (const batch of await library.openRows(path)) {
        found.push(...batch.values('v').map((list) => list && Array.from(list)));
      }
      assert.deepEqual(found, expected, name);
    }
  });
}

/** The blocks of a section of docs/with.md, run in order in a folder as a user would. */
async function checkRecipes() {
  const page = await readFile(join(root, 'docs/with.md'), 'utf8');
  const [, section] = /\n## Polars, pandas, DuckDB, NumPy\n(.*?)(?:\n## |$)/s.exec(page) ?? [];
  assert.ok(section, 'docs/with.md has no section "Polars, pandas, DuckDB, NumPy"');
  const blocks = [...section.matchAll(/```(\w+)\n(.*?)```/gs)];
  assert.ok(blocks.length >= 8, `only ${blocks.length} blocks`);
  const home = join(folder, 'recipes');
  await mkdir(join(home, 'node_modules'), { recursive: true });
  await mkdir(join(home, 'bin'));
  await symlink(root, join(home, 'node_modules/halfspace'));
  await symlink(join(root, 'datasets'), join(home, 'datasets'));
  const dependencies = { halfspace: `file:${root}` };
  await writeFile(join(home, 'package.json'), JSON.stringify({ type: 'module', dependencies }));
  const starter = `#!/bin/sh\nexec "${process.execPath}" "${root}/dist/cli.js" "$@"\n`;
  await writeFile(join(home, 'bin/halfspace'), starter, { mode: 0o755 });
  const PATH = [join(home, 'bin'), join(environment, 'bin'), process.env.PATH].join(delimiter);
  for (const [i, [, language, code]] of blocks.entries()) {
    const [line] = code.trim().split('\n');
    await check(`recipe ${i + 1}, ${language}: ${line}`, async () => {
      const output = await runBlock(language, code, home, i, { PATH });
      const promised = [...code.matchAll(/(?:print|console\.log)\(.*\);? {2}?(?:#|\/\/) (.*)/g)];
      if (promised.length === 0) return;
      const printed = output.trim().split('\n');
      assert.deepEqual(
        printed,
        promised.map(([, text]) => text),
      );
    });
  }
}

async function runBlock(language, code, cwd, number, env) {
  const [program, ending] = { sh: ['bash', 'sh'], python: ['python', 'py'], js: ['node', 'mjs'] }[
    language
  ];
  const file = join(cwd, `block-${number}.${ending}`);
  await writeFile(file, code);
  const flags = language === 'sh' ? ['-euo', 'pipefail'] : [];
  return run(program, [...flags, file], { cwd, env });
}

async function main() {
  await check('the programs are there', installPrograms);
  await check('builds', async () => {
    if (!process.argv.includes('--built')) await run('npm', ['run', 'build:js']);
    library = await import('../dist/node.js');
  });
  const files = await writeOurs();
  await check('opens what we write', async () => {
    const read = await readAll(files.map(({ path }) => path));
    for (const { path, rows } of files) {
      const [[first, wanted], ...others] = Object.entries(read[path]);
      assert.deepEqual(only(wanted, rows), rows, `${first} reads other values in ${path}`);
      for (const [program, own] of others) {
        assert.deepEqual(own, wanted, `${program} and ${first} differ in ${path}`);
      }
      assert.equal(others.length, 2);
    }
    return `pyarrow, polars, duckdb agree on ${files.length} files`;
  });
  await checkSearches();
  await checkTheirs();
  await checkLists();
  await checkRecipes();
}

const hasPython = await run('python3', ['--version']).catch(() => null);
if (hasPython === null) {
  console.log('**NO PYTHON**: pyarrow, Polars and DuckDB are NOT checked. Install python3-venv.');
  console.log('0 passed, 0 failed');
  await rm(folder, { recursive: true });
  process.exitCode = process.env.CI ? 1 : 0;
} else {
  await runChecks(main, () => rm(folder, { recursive: true, force: true }));
}
