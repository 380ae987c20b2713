/**
 * An index folder as the verbs open it: recognized by its manifest, its options compared with those
 * of the call, its ids found by the words of the command line.
 */

import { readdir, stat } from 'node:fs/promises';
import { type Id, IndexFolder, type SimHashIndex } from '../../node';
import type { Call } from '../call';
import { bytesText, counted } from '../output/figures';

/** True of a folder that has a manifest, sound or not. */
export async function isIndexFolder(path: string): Promise<boolean> {
  const names = await readdir(path).catch(() => []);
  return names.some((name) => /^manifest(-\d+)?\.json$/.test(name));
}

/** The folder of an index; whatever else is there is a failure that says so. */
export async function openFolder(call: Call, path: string): Promise<IndexFolder> {
  await stat(path); // no such folder: the system's own error
  if (!(await isIndexFolder(path))) {
    call.fail(`${path} is no index folder: make one by halfspace index IN -o ${path}`);
  }
  return IndexFolder.open(path);
}

/** Options that are given must be those of the index: rows made otherwise do not compare. */
export function refuseOtherSettings(call: Call, folder: IndexFolder): void {
  const { bits, seed, projection, vectors } = folder.options;
  const { tokens, stopWords, counting, keywords, hash } = folder.text ?? {};
  const ofText = folder.text && { tokens, 'stop-words': stopWords, counting, keywords, hash };
  for (const [name, value] of Object.entries({ bits, seed, projection, vectors, ...ofText })) {
    const given = call.has(name) ? call.text(name) : undefined;
    if (given === undefined || given === String(value)) continue;
    const is = value === undefined ? `no --${name}` : `--${name} ${value}`;
    call.fail(`${folder.path} was made with ${is}, not ${given}: leave out --${name}`);
  }
}

/** The id that a text names, of the kind that the index has. */
export function idNamed(index: SimHashIndex, text: string): Id | undefined {
  const candidates: Id[] = [text];
  if (/^[+-]?\d+$/.test(text)) candidates.push(Number(text), BigInt(text));
  return candidates.find((id) => index.has(id));
}

/**
 * What a word of the command line names: itself where the index has that id, else its parts between
 * commas. Where it has both, the word could mean either and is refused.
 */
export function partsOf(call: Call, index: SimHashIndex, word: string): readonly string[] {
  const parts = word.split(',').map((part) => part.trim());
  if (parts.length === 1 || idNamed(index, word) === undefined) return parts;
  if (parts.every((part) => idNamed(index, part) !== undefined)) {
    call.misuse(`"${word}" is an id, and a list of ids: the index has them all`);
  }
  return [word];
}

/** How its texts were read; null where it was not made of texts. */
export function textWords({ text }: IndexFolder): string | null {
  if (text === null) return null;
  return Object.entries(text)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

/** The carried columns with their types. */
export function columnWords({ columnInfo }: IndexFolder): string {
  return columnInfo.map(({ name, type }) => `${name} (${type})`).join(', ') || 'none';
}

/** Bytes of all files, and how many these are. */
export function sizeWords(folder: IndexFolder): string {
  return `${bytesText(bytesOf(folder))} in ${counted(folder.files.length, 'file')}`;
}

/** Bytes of all files of the newest generation. */
export function bytesOf({ files }: IndexFolder): number {
  return files.reduce((sum, file) => sum + file.bytes, 0);
}
