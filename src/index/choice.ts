/**
 * What `optimize` derives from the chosen setting: the margin at which re-ranking may end early,
 * and models of how much searches miss with this setting and with cheaper and dearer ones.
 */

import { mean } from '../base/mean-limits';
import type { Steps } from '../base/steps';
import type { FullSetting } from './candidates';
import { fittedDoubt } from './doubt';
import type { DoubtModel } from './index-options';
import { MARGIN, WIDER_MARGINS } from './re-rank';
import { type Evaluated, type Found, type Measured, sharesFound } from './recall';
import type { Choice, Target } from './tuning';

/** Share of the allowed misses, 1 - recall, that the early end of re-ranking may add. */
const MAX_MARGIN_COST = 1 / 20;
/**
 * Settings that searches for a recall try, in units of the chosen one, and the number of queries
 * that measure each. In indexes optimized for .9, 12 to 45 % of the searches for .99 still expect
 * to miss more at four times the setting: over GloVe and nouns, four seeds each, 3,000 new queries
 * found .986 to .993 with it, and .992 to .997 with eight times, which makes optimizing 4 to 10 %
 * longer; sixteen times found at most .001 more.
 */
const DOUBT_SETTINGS = [1 / 2, 1, 2, 4, 8] as const;
const DOUBT_QUERIES = 250;
/** Most candidates of these settings, in units of k. */
const MAX_DOUBT_WANT = 256;
/**
 * The chosen setting with the narrowest margin that costs few neighbours, or the margin that costs
 * fewest, and what is found with it. A narrower margin ends re-ranking earlier.
 */
export function* withMargin(
  index: Measured,
  choosing: readonly Evaluated[],
  cheapest: Choice,
  { k, recall }: Target,
): Steps<{ choice: FullSetting & Choice; found: Found }> {
  const atMost = MAX_MARGIN_COST * (1 - recall);
  // From narrow to wide: a wider margin is tried only while the one before costs too much.
  let best: { choice: FullSetting & Choice; found: Found; cost: number } | null = null;
  for (const margin of [MARGIN, ...WIDER_MARGINS]) {
    const choice = { ...cheapest, margin };
    const found = yield* sharesFound(index, choosing, { k, setting: choice });
    const cost =
      (cheapest.found - mean(found.shares) * found.shares.length) /
      Math.max(1, found.shares.length);
    if (best === null || cost < best.cost - atMost) best = { choice, found, cost };
    if (cost <= atMost) break;
  }
  return best as NonNullable<typeof best>;
}

/**
 * Models of how much searches miss, for the chosen setting and for cheaper and dearer ones. `seen`
 * are the searches already done with the chosen one; `judging` are the queries for others.
 */
export function* doubtOf(
  index: Measured,
  choice: FullSetting,
  seen: readonly Found[],
  judging: readonly Evaluated[],
  k: number,
): Steps<DoubtModel[]> {
  const { partitions, distinctCodes, vectors } = index.parts;
  const some = judging.slice(0, DOUBT_QUERIES);
  const models: DoubtModel[] = [];
  const most = Math.max(choice.want, k, Math.min(MAX_DOUBT_WANT * k, distinctCodes.rowCount));
  for (const times of DOUBT_SETTINGS) {
    const { probes, margin } = choice;
    const isByRank = vectors !== null;
    const want = isByRank ? Math.min(most, Math.max(1, times) * choice.want) : choice.want;
    const visited = partitions?.count ?? 0;
    const setting = {
      probes: probes === null ? null : Math.max(1, Math.min(visited, Math.round(times * probes))),
      ...{ want, margin },
    };
    const isChosen = times === 1;
    const isSame = setting.probes === probes && setting.want === choice.want;
    // Rounding and bounds can map two factors to the chosen setting, which needs one model.
    if (isSame && !isChosen) continue;
    const found = isChosen ? seen : [yield* sharesFound(index, some, { k, setting })];
    const missing = found.flatMap(({ shares }) => Array.from(shares, (share) => 1 - share));
    const signs = found.flatMap((one) => one.signs);
    models.push(fittedDoubt(isChosen ? choice : setting, k, signs, missing));
    yield undefined;
  }
  return models;
}
