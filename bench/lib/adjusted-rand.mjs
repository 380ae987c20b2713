// The adjusted Rand index of two groupings of the same rows (Hubert & Arabie 1985): 1 when they are
// the same, about 0 when they agree as chance would.

/** Each grouping has the name of the group of each row. */
export function adjustedRand(ours, theirs) {
  const both = Array.from(ours, (name, row) => `${name} ${theirs[row]}`);
  const together = pairsWithin(both);
  const [inOurs, inTheirs] = [pairsWithin(ours), pairsWithin(theirs)];
  const byChance = (inOurs * inTheirs) / pairsOf(both.length);
  const most = (inOurs + inTheirs) / 2;
  return most === byChance ? 1 : (together - byChance) / (most - byChance);
}

/** The same from all pairs of rows, by the counts of the pairs on which both agree or not. */
export function adjustedRandOfPairs(ours, theirs) {
  let [both, onlyOurs, onlyTheirs, neither] = [0, 0, 0, 0];
  for (let a = 0; a < ours.length; a++) {
    for (let b = 0; b < a; b++) {
      const [inOurs, inTheirs] = [ours[a] === ours[b], theirs[a] === theirs[b]];
      if (inOurs && inTheirs) both++;
      else if (inOurs) onlyOurs++;
      else if (inTheirs) onlyTheirs++;
      else neither++;
    }
  }
  const above = 2 * (both * neither - onlyOurs * onlyTheirs);
  const below =
    (both + onlyOurs) * (onlyOurs + neither) + (both + onlyTheirs) * (onlyTheirs + neither);
  return below === 0 ? 1 : above / below;
}

function pairsWithin(names) {
  const sizes = new Map();
  for (const name of names) sizes.set(name, (sizes.get(name) ?? 0) + 1);
  let pairs = 0;
  for (const size of sizes.values()) pairs += pairsOf(size);
  return pairs;
}

function pairsOf(size) {
  return (size * (size - 1)) / 2;
}
