/** The files of a folder and of the folders within. */

import { readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

/** Paths within the folder, with slashes, in the order of their characters; hidden ones not. */
export async function filesOf(folder: string): Promise<string[]> {
  const found: string[] = [];
  const visit = async (path: string) => {
    for (const entry of await readdir(path, { withFileTypes: true })) {
      const inner = join(path, entry.name);
      if (entry.name.startsWith('.')) continue;
      if (entry.isDirectory()) await visit(inner);
      else if (entry.isFile()) found.push(relative(folder, inner).split(sep).join('/'));
    }
  };
  await visit(folder);
  return found.sort();
}
