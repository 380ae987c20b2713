/**
 * Finds the option, column or command that a mistyped name probably means, for error messages.
 * Names are short, so the edit distance to each known one is computed.
 */

/**
 * The known name with the fewest edits, the first one if several have as few. At most 2 edits are
 * allowed, or half of the letters, rounded up, if that is more; a name that begins with `given`
 * counts as 1 edit. Null where no name is that near.
 */
export function nearestName(given: string, known: readonly string[]): string | null {
  let nearest: string | null = null;
  let fewest = Math.max(3, Math.ceil(given.length / 2) + 1);
  for (const name of known) {
    const edits = given !== '' && name.startsWith(given) ? 1 : editDistance(given, name);
    if (edits >= fewest) continue;
    fewest = edits;
    nearest = name;
  }
  return nearest;
}

/** Levenshtein's distance, case ignored. `costs` is one row of its table, for a prefix of `a`. */
function editDistance(a: string, b: string): number {
  const from = a.toLowerCase();
  const to = b.toLowerCase();
  let costs = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = costs[j - 1] + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, costs[j] + 1, next[j - 1] + 1));
    }
    costs = next;
  }
  return costs[to.length];
}

/** Limit of the names that a message lists, since a table may have thousands of columns. */
const MAX_LISTED = 20;

/** The error for a missing column: `no column "x", there are "a", "b"; did you mean "b"?` */
export function noColumn(name: string, names: readonly string[]): RangeError {
  const listed = names.slice(0, MAX_LISTED).map((one) => `"${one}"`);
  if (names.length > MAX_LISTED) listed.push(`and ${names.length - MAX_LISTED} more`);
  const nearest = nearestName(name, names);
  const hint = nearest === null ? '' : `; did you mean "${nearest}"?`;
  return new RangeError(`no column "${name}", there are ${listed.join(', ') || 'none'}${hint}`);
}
