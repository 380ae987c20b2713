// Checks the vocabulary: words that this project does not use, with the words to use instead. One
// concept has one word, so that a search for it finds all of it. Reads the sources, the titles of tests,
// the docs and the README; camelCase and snake_case names are read as words.
//
// node scripts/check-words.mjs

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './lib/checks.mjs';

/** `words` is a regular expression, case and plural included; `allow` names files, each with a reason. */
const RULES = [
  { words: 'anew', use: 'again' },
  { words: 'told of', use: 'reported' },
  { words: 'lets? go of', use: 'free, release' },
  { words: 'letting go of', use: 'freeing, releasing' },
  { words: 'heirs?', use: 'rows with an equal code' },
  { words: 'twins?', use: 'scalar kernel' },
  { words: 'patience|stakes?', use: 'what is counted: maxExtraScans, unusedSearches' },
  { words: 'who asks?|whoever asks?', use: 'callers' },
  { words: 'leave be', use: 'leave unchanged' },
  { words: 'second looks?|full looks?', use: 're-rank' },
  { words: 'sketch(es|ed)?', use: 'residual code' },
  { words: 'cent(er|re)s?', use: 'centroid' },
  { words: 'keepers?', use: 'keep (which row of a group stays)' },
  {
    words: 'floors?',
    use: 'layer',
    allow: {
      'src/near/join.ts': 'the function of a formula',
    },
  },
  { words: '(is|are) to be', use: 'must be' },
  { words: 'beside', use: 'next to, compared with' },
  { words: 'crowds?', use: 'equal codes' },
  { words: 'nobody', use: 'no caller, nothing' },
  { words: 'credit', use: 'what is counted: unusedSearches' },
  { words: 'memor(y|ies) of (its|their) own', use: 'own memory' },
  {
    words: 'slots?',
    use: 'distinct code, row',
    allow: {
      'src/table/arrow/messages.ts': "FlatBuffers' own word for a field's place",
    },
  },
];

/** What is read of each file: all of it, or only the titles of tests. */
function* texts() {
  for (const file of filesBelow('src')) {
    if (/\.ts$/.test(file) && !file.endsWith('.generated.ts')) yield [file, readText(file)];
  }
  for (const file of filesBelow('test')) {
    if (file.endsWith('.test.ts')) yield [file, titlesOf(readText(file))];
  }
  const ofSite = readdirSync(join(root, 'site')).map((file) => `site/${file}`);
  for (const file of ['README.md', ...filesBelow('docs'), ...ofSite]) {
    if (file.endsWith('.md')) yield [file, readText(file)];
  }
}

const readText = (file) => readFileSync(join(root, file), 'utf8');

function filesBelow(folder) {
  const files = readdirSync(join(root, folder), { recursive: true });
  return files.map((file) => `${folder}/${file.replaceAll('\\', '/')}`).sort();
}

/** A test file with nothing but the titles in it, each on its line. */
function titlesOf(text) {
  const title = /\b(?:it|test|describe)\b[^'"`\n]*\(\s*(['"`])(.*?)\1/g;
  const blank = text.replace(/[^\n]/g, ' ').split('');
  for (const match of text.matchAll(title)) {
    const start = match.index + match[0].length - match[2].length - 1;
    for (let i = 0; i < match[2].length; i++) blank[start + i] = match[2][i];
  }
  return blank.join('');
}

/** `mostHeld` and `MOST_HELD` as two words each; `Math.floor` and `f64x2.floor` are no layers. */
const inWords = (line) =>
  line
    .replaceAll(/(Math|f64x2)\.floor/g, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ');

const rules = RULES.map((rule) => ({
  ...rule,
  pattern: new RegExp(`\\b(?:${rule.words})\\b`, 'gi'),
  allowed: Object.keys(rule.allow ?? {}),
}));
const found = new Map(rules.map((rule) => [rule, []]));
for (const [file, text] of texts()) {
  text.split('\n').forEach((line, i) => {
    const words = inWords(line);
    for (const rule of rules) {
      if (rule.allowed.some((start) => file.startsWith(start))) continue;
      for (const [word] of words.matchAll(rule.pattern)) {
        found.get(rule).push(`${file}:${i + 1}: "${word}"`);
      }
    }
  });
}

let errors = 0;
for (const [{ use }, places] of found) {
  for (const place of places) console.error(`${place}: use ${use}`);
  errors += places.length;
}
if (errors > 0) {
  console.error(
    `${errors} words that this project does not use (scripts/check-words.mjs says why)`,
  );
  process.exitCode = 1;
}
