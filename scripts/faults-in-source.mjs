// How many faults do the tests notice? Draws one-line faults over src by a seed (a comparison flipped, a
// number off by one, a negation or a statement left out, + for −), makes them one after another, and runs
// the tests that import the file. A fault that no test notices is printed; read it, since some change
// nothing. Two trees are compared by the same seed.
//
//   node scripts/faults-in-source.mjs [TREE] [--count 100] [--seed 1] [--list]
//
// TREE is a checkout with its packages installed, this one by default. Its sources are written and
// restored, so it must have no changes in src.

import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import ts from 'typescript';
import { root } from './lib/checks.mjs';

const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    list: { type: 'boolean', default: false },
  },
});
const tree = resolve(positionals[0] ?? root);
/** A fault that makes a loop endless counts as noticed, once its tests have taken so long. */
const LIMIT_SECONDS = 600;

const OTHER_OPERATORS = {
  ...{ '<': '<=', '<=': '<', '>': '>=', '>=': '>', '===': '!==', '!==': '===' },
  ...{ '+': '-', '-': '+', '*': '+', '/': '*', '%': '*', '&&': '||', '||': '&&', '??': '&&' },
  ...{ '&': '|', '|': '&', '<<': '>>', '>>': '<<', '>>>': '<<' },
  ...{ '+=': '-=', '-=': '+=', '|=': '&=', '&=': '|=', '^=': '|=' },
};

/** Every fault of a file, as `{ start, end, text, what }`: what stands there instead. */
function faultsOf(path) {
  const source = ts.createSourceFile(
    path,
    readFileSync(path, 'utf8'),
    ts.ScriptTarget.ES2022,
    true,
  );
  const faults = [];
  const add = (node, text) => {
    const [start, end] = [node.getStart(source), node.end];
    const what = `${node.getText(source).split('\n')[0].slice(0, 60)} → ${text || 'nothing'}`;
    faults.push({ start, end, text, what });
  };
  const visit = (node) => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node)) return;
    if (ts.isBinaryExpression(node)) {
      const other = OTHER_OPERATORS[node.operatorToken.getText(source)];
      const isText = [node.left, node.right].some((one) => ts.isStringLiteralLike(one));
      if (other !== undefined && !isText) add(node.operatorToken, other);
    }
    if (ts.isNumericLiteral(node) && !ts.isEnumMember(node.parent)) {
      if (/^\d{1,9}$/.test(node.text)) add(node, String(Number(node.text) + 1));
    }
    if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
      add(node, node.operand.getText(source));
    }
    if (node.kind === ts.SyntaxKind.TrueKeyword) add(node, 'false');
    if (node.kind === ts.SyntaxKind.FalseKeyword) add(node, 'true');
    if (ts.isExpressionStatement(node) && ts.isBlock(node.parent)) add(node, ';');
    if (ts.isThrowStatement(node) && ts.isBlock(node.parent)) add(node, ';');
    ts.forEachChild(node, visit);
  };
  visit(source);
  return faults;
}

/** Numbers of 0 to 1 by a seed: mulberry32. */
function draws(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Kernels in AssemblyScript are built and compared with others; the page runs in a browser. */
function sourcesOf(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts') && !/\.(generated|assembly|d)\.ts$/.test(file))
    .filter((file) => !file.startsWith('explore/page/'))
    .sort();
}

/** Whether a test fails with this fault; the file is as it was afterwards. */
function isNoticed({ file, start, end, text }) {
  const path = join(tree, 'src', file);
  const before = readFileSync(path, 'utf8');
  const restore = () => writeFileSync(path, before);
  const stop = () => {
    restore();
    process.exit(130);
  };
  process.once('SIGINT', stop);
  try {
    writeFileSync(path, before.slice(0, start) + text + before.slice(end));
    // Tests of the command run what is built of these files, so that no import leads to them.
    const chosen = file.startsWith('cli/') ? ['run', 'test/cli'] : ['related', '--run', path];
    const tags = ['--tags-filter=!full', '--tags-filter=!thorough'];
    // `timeout` ends all processes of the run, whose workers may be in the endless loop.
    const limited = ['-s', 'KILL', `${LIMIT_SECONDS}`, 'npx', 'vitest', ...chosen];
    const options = { cwd: tree, stdio: 'ignore' };
    const { status, error } = spawnSync('timeout', [...limited, '--bail', '1', ...tags], options);
    if (error) throw error;
    return status !== 0;
  } finally {
    restore();
    process.removeListener('SIGINT', stop);
  }
}

const changed = execFileSync('git', ['status', '--porcelain', '--', 'src'], { cwd: tree });
if (changed.length > 0) throw new Error(`${tree} has changes in src`);
const all = sourcesOf(join(tree, 'src')).flatMap((file) =>
  faultsOf(join(tree, 'src', file)).map((fault) => ({ file, ...fault })),
);
const draw = draws(Number(given.seed));
let noticed = 0;
const count = Number(given.count);
for (let i = 0; i < count; i++) {
  const [fault] = all.splice(Math.floor(draw() * all.length), 1);
  const line = readFileSync(join(tree, 'src', fault.file), 'utf8')
    .slice(0, fault.start)
    .split('\n');
  const where = `src/${fault.file}:${line.length}: ${fault.what}`;
  if (given.list) console.log(where);
  else if (isNoticed(fault)) noticed++;
  else console.log(`not noticed: ${where}`);
}
if (!given.list)
  console.log(`${noticed} of ${count} faults noticed, of ${all.length + count} possible`);
