/** The known name that a mistyped one is nearest to, by Levenshtein's distance. */

import { editDistance } from '../base/check';

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
