/** Leaves word of what this process is at, for the one that started it to read if it dies. */

import { openSync, writeSync } from 'node:fs';

const file = process.env.NOTE === undefined ? null : openSync(process.env.NOTE, 'w');
let longest = 0;

export function note(text: string): void {
  longest = Math.max(longest, text.length);
  if (file !== null) writeSync(file, text.padEnd(longest), 0);
}
