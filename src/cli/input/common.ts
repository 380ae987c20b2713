/**
 * `--common`: text that many texts share, a template or a licence, does not make them near. Either
 * a share of the texts, above which what they share is common, or a file of the common text itself.
 */

import { readFile } from 'node:fs/promises';
import { JACCARD } from '../../codes/measure';
import type { Call } from '../call';
import type { Collection } from './collection';

/** A number, as a share is written; anything else is a file. */
const SHARE = /^[\d.]+$/;

/** Fails before rows are read where the option does not fit the others. */
export function checkCommonOption(call: Call): void {
  const given = call.text('common');
  if (given === undefined) return;
  const others = ['extend', 'against', 'apply', 'max-distance', 'min-cosine'];
  const other = others.find((name) => call.has(name));
  if (other !== undefined) call.misuse(`--common does not go with --${other}`);
  const share = Number(given);
  if (SHARE.test(given) && !(share > 0 && share < 1)) {
    call.misuse(`--common expected a share of the texts above 0 and below 1, got ${given}`);
  }
}

/** The option for `dedup`: a share, or the members of the set of a text. */
export async function commonOf(
  call: Call,
  { measure, again, vectors }: Collection,
): Promise<number | BigUint64Array | undefined> {
  const given = call.text('common');
  if (given === undefined) return undefined;
  if (measure !== JACCARD || (again === null && vectors === null)) {
    call.misuse('--common needs texts in a file, compared as sets of their tokens');
  }
  if (SHARE.test(given)) return Number(given);
  const hasher = (await again?.(() => false))?.textHasher ?? null;
  if (hasher === null) call.misuse('--common FILE needs texts; give a share of the rows');
  const members = hasher.vectorize(await readFile(given, 'utf8')).indices as BigUint64Array;
  if (members.length === 0) call.fail(`${given}: no words`);
  return members;
}
