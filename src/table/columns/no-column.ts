/** The error for a column that is not there: it names those that are, and the nearest. */

import { editDistance } from '../../base/check';

/** Names told in a message; a table may have thousands. */
const MOST_NAMES = 20;

export function noColumn(name: string, names: readonly string[]): RangeError {
  const listed = names.slice(0, MOST_NAMES).map((one) => `"${one}"`);
  if (names.length > MOST_NAMES) listed.push(`and ${names.length - MOST_NAMES} more`);
  const nearest = nearestName(name, names);
  const hint = nearest === null ? '' : `; did you mean "${nearest}"?`;
  return new RangeError(`no column "${name}", there are ${listed.join(', ') || 'none'}${hint}`);
}

/** The name that takes the fewest edits, where those are fewer than half of its letters. */
function nearestName(name: string, names: readonly string[]): string | null {
  let nearest: string | null = null;
  let fewest = Math.ceil(name.length / 2);
  for (const candidate of names) {
    const edits = editDistance(name, candidate);
    if (edits < fewest) {
      fewest = edits;
      nearest = candidate;
    }
  }
  return nearest;
}
