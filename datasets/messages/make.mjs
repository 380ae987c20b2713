// The files as bytes: one row for each message of the TypeScript compiler, by code, and two passages of
// Chinese ones: what the compiler's options do, from the first on, and the last two thirds of that with
// one more sentence.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Uint16, Utf8 } from 'apache-arrow';

import { arrowFile } from '../lib/arrow-file.mjs';

const MESSAGES = 2127;
const LANGUAGES = { ja: 'ja', ko: 'ko', zh: 'zh-cn' };
/** Codes of the first sentence, how many there are, and the one more. */
const PASSAGE = { first: 6600, count: 24, more: 6700 };
const METADATA = {
  source: 'TypeScript (Microsoft), the messages of npm typescript 6.0.3',
  licence: 'Apache-2.0',
};

export function makeFiles() {
  const folder = dirname(createRequire(import.meta.url).resolve('typescript/lib/typescript.js'));
  const messagesIn = (language) =>
    JSON.parse(readFileSync(join(folder, language, 'diagnosticMessages.generated.json'), 'utf8'));
  const byLanguage = Object.entries(LANGUAGES).map(([name, own]) => [name, messagesIn(own)]);
  const codeOf = (key) => Number(/_(\d+)$/.exec(key)[1]);
  const keys = Object.keys(byLanguage[0][1]).sort((a, b) => codeOf(a) - codeOf(b));
  const isWhole = byLanguage.every(([, messages]) => keys.every((key) => key in messages));
  if (keys.length !== MESSAGES || !isWhole) {
    throw new Error(`the package is not as expected: ${keys.length} messages, or one is missing`);
  }
  const columns = { code: { type: new Uint16(), values: keys.map(codeOf) } };
  for (const [name, messages] of byLanguage) {
    columns[name] = { type: new Utf8(), values: keys.map((key) => messages[key]) };
  }
  const zh = (code) => columns.zh.values[columns.code.values.indexOf(code)];
  const first = columns.code.values.indexOf(PASSAGE.first);
  const sentences = columns.zh.values.slice(first, first + PASSAGE.count);
  const tail = sentences.slice(PASSAGE.count / 3);
  return {
    'messages.arrow': arrowFile(columns, METADATA),
    'long.txt': Buffer.from(`${sentences.join('')}\n`),
    'short.txt': Buffer.from(`${[...tail, zh(PASSAGE.more)].join('')}\n`),
  };
}
