/** What an index folder says of itself, in words that `info` and reports share. */

import type { IndexFolder } from '../../node';
import { bytesText, counted } from './figures';

/** How its texts were read; null where it was not made of texts. */
export function textWords({ text }: IndexFolder): string | null {
  if (text === null) return null;
  return Object.entries(text)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

export function columnWords({ columnInfo }: IndexFolder): string {
  return columnInfo.map(({ name, type }) => `${name} (${type})`).join(', ') || 'none';
}

export function sizeWords(folder: IndexFolder): string {
  return `${bytesText(bytesOf(folder))} in ${counted(folder.files.length, 'file')}`;
}

export function bytesOf({ files }: IndexFolder): number {
  return files.reduce((sum, file) => sum + file.bytes, 0);
}
