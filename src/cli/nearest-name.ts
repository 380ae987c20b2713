/** The known name that a mistyped one is nearest to, by Levenshtein's distance. */

export function nearestName(given: string, known: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let least = Math.max(3, Math.ceil(given.length / 2));
  for (const name of known) {
    const distance = name.startsWith(given) ? 1 : editDistance(given, name);
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

function editDistance(from: string, to: string): number {
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
