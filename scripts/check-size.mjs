// Measures the sources and holds limits: lines of the largest file, functions that are too long to be
// read at once, values exported by the two entry points, exports that no other file imports. Prints the
// share of comment lines as well.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { root } from './lib/checks.mjs';

const MAX_FILE_LINES = 650;
const MAX_FUNCTION_LINES = 60;
/** Functions above that limit, and exported values; both only ever go down. */
const MAX_LONG_FUNCTIONS = 0;
const MAX_EXPORTS = 60;

const src = join(root, 'src');
const files = readdirSync(src, { recursive: true })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => /\.ts$/.test(file) && !/\.generated\.ts$|\.d\.ts$/.test(file))
  .sort();

const sum = { files: files.length, lines: 0, comments: 0, blank: 0 };
const sizes = [];
const longFunctions = [];
for (const file of files) {
  const text = readFileSync(join(src, file), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true);
  const lines = text.trimEnd().split('\n');
  sizes.push({ file, lines: lines.length });
  sum.lines += lines.length;
  sum.blank += lines.filter((line) => line.trim() === '').length;
  sum.comments += lines.filter((line) => /^\s*(\/\/|\/\*|\*)/.test(line)).length;
  findLongFunctions(source, source, file);
}

/** From the line of its name to its last brace, comments within counted, those above it not. */
function findLongFunctions(node, source, file) {
  if (ts.isFunctionLike(node) && node.body) {
    const first = source.getLineAndCharacterOfPosition(node.getStart(source)).line;
    const last = source.getLineAndCharacterOfPosition(node.end).line;
    const lines = last - first + 1;
    if (lines > MAX_FUNCTION_LINES) {
      const name = node.name?.getText(source) ?? node.parent?.name?.getText(source) ?? 'a function';
      longFunctions.push(`${file}:${first + 1}: ${name} has ${lines} lines`);
    }
  }
  ts.forEachChild(node, (child) => findLongFunctions(child, source, file));
}

/** Values that an entry point re-exports by name. */
function exportsOf(file) {
  const text = readFileSync(join(src, file), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true);
  return source.statements
    .filter((one) => ts.isExportDeclaration(one) && !one.isTypeOnly && one.exportClause)
    .flatMap(({ exportClause }) => exportClause.elements)
    .filter((element) => !element.isTypeOnly)
    .map((element) => element.name.text);
}

/** Names that a file imports or re-exports; of what it loads by `import(…)`, all that it may use. */
function importsOf(text) {
  const lists = text.matchAll(/\b(?:import|export|const) (?:type )?\{([^}]*)\}\s*(?:from|=) /g);
  const listed = Array.from(lists, ([, list]) => list.match(/[\w$]+/g) ?? []);
  const picked = /\bimport\('/.test(text) ? text.matchAll(/[?)\w]\.(\w+)/g) : [];
  return [...listed.flat(), ...Array.from(picked, ([, name]) => name)];
}

/** Exports of src that no file imports, tests included. */
function unusedExports() {
  const imported = new Set();
  for (const folder of ['src', 'test', 'bench', 'scripts']) {
    for (const file of readdirSync(join(root, folder), { recursive: true })) {
      if (!/\.m?ts$|\.mjs$/.test(file) || /node_modules|\.generated\./.test(file)) continue;
      for (const name of importsOf(readFileSync(join(root, folder, file), 'utf8'))) {
        imported.add(name);
      }
    }
  }
  const declaration =
    /^export (?:async )?(?:abstract )?(?:const|function\*?|class|interface|type|let) (\w+)/gm;
  return files
    .filter((file) => !/\.assembly\.ts$/.test(file))
    .flatMap((file) =>
      Array.from(readFileSync(join(src, file), 'utf8').matchAll(declaration), ([, name]) => name)
        .filter((name) => !imported.has(name))
        .map((name) => `${file} exports ${name}, which nothing imports`),
    );
}

const exported = new Set([...exportsOf('index.ts'), ...exportsOf('node.ts')]);
const large = sizes.filter(({ lines }) => lines > MAX_FILE_LINES);
const largest = sizes.reduce((a, b) => (b.lines > a.lines ? b : a));
const share = (count) => `${((100 * count) / sum.lines).toFixed(1)} %`;
console.log(`src: ${sum.lines} lines in ${sum.files} files, ${share(sum.comments)} comments`);
console.log(`largest file: ${largest.file}, ${largest.lines} of ${MAX_FILE_LINES} lines`);
console.log(`functions over ${MAX_FUNCTION_LINES} lines: ${longFunctions.length}`);
for (const one of longFunctions) console.log(`  ${one}`);
console.log(`exported values: ${exported.size}`);

const problems = [
  ...large.map(({ file, lines }) => `${file} has ${lines} lines, more than ${MAX_FILE_LINES}`),
  ...(longFunctions.length > MAX_LONG_FUNCTIONS
    ? [`more than ${MAX_LONG_FUNCTIONS} functions of over ${MAX_FUNCTION_LINES} lines`]
    : []),
  ...unusedExports(),
  ...(exported.size > MAX_EXPORTS ? [`more than ${MAX_EXPORTS} exported values`] : []),
];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
