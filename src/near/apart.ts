/**
 * Groups of rows that common text does not make near: what is common is given, or is the text of
 * templates. These are found among the groups that rows as a whole make, which are then taken
 * apart; groups of versions of one text stay whole, whatever they share.
 */

import { wrongType } from '../base/check';
import type { HashCounts } from '../base/hash-counts';
import type { LongWork } from '../base/long-work';
import { CommonText, countsOfMembers, type EachText, templatesIn } from './common-text';
import { type GatheredRows, type GroupOptions, type GroupRequest, gather, orderBy } from './groups';
import { presentRows, type Rows } from './rows';

/** A group of rows as a whole, and whether they are versions of one text. */
export type Star = GatheredRows & { readonly isVersions: boolean };

/** Text that does not make rows near; where it was looked for, with the stars of the rows. */
interface FoundText {
  readonly text: CommonText | null;
  readonly stars: Star[] | null;
}

/** The options of `dedup` on which common text depends. */
type CommonOptions = Pick<GroupOptions, 'minJaccard'> & {
  readonly common?: BigUint64Array | EachText;
  readonly extend?: unknown;
};

/** What many rows share, by the option `common`; needs rows that are compared as sets. */
export async function findCommon(
  rows: Rows,
  { common, minJaccard, extend }: CommonOptions,
  { grouping, keep, near }: GroupRequest,
  work: LongWork,
): Promise<FoundText> {
  if (common === undefined) return { text: null, stars: null };
  const areGiven = common instanceof BigUint64Array;
  if (!areGiven && typeof common !== 'function') {
    throw wrongType('common', 'a BigUint64Array or a function', common);
  }
  if (minJaccard === undefined || rows.vectors?.kind !== 'sparse') {
    throw new Error('"common" needs "minJaccard", and the sets of the rows as vectors');
  }
  if (extend !== undefined) throw new Error('"common" goes without "extend"');
  if (areGiven) {
    const members = countsOfMembers(common);
    const ofAll = { commonOf: () => members, isCompared: () => true };
    return { text: await CommonText.of(rows, ofAll, work), stars: null };
  }
  const stars = await starsOf(rows, { keep, near }, work);
  const ofStars = stars.map((star) => star.rows);
  const found = await templatesIn(ofStars, rows, common, work);
  const judged = stars.map((star) => ({ ...star, isVersions: found.versions.has(star.rows) }));
  if (found.templates.size === 0) return { text: null, stars: judged };
  // Rows of a template have its text alone, since what fills its gaps may be text of another one.
  const ofRow: HashCounts[] = new Array(rows.codes.count).fill(found.common);
  for (const [own, members] of found.templates) for (const row of own) ofRow[row] = members;
  const isCompared = new Uint8Array(ofRow.length).fill(Number(grouping !== 'star'));
  for (const star of ofStars) for (const row of star) isCompared[row] = 1;
  const own = {
    commonOf: (row: number) => ofRow[row],
    isCompared: (row: number) => isCompared[row] === 1,
  };
  return { text: await CommonText.of(rows, own, work), stars: judged };
}

/** Groups of rows as a whole. */
async function starsOf(
  rows: Rows,
  { keep, near }: Pick<GroupRequest, 'keep' | 'near'>,
  work: LongWork,
): Promise<GatheredRows[]> {
  const order = await orderBy(keep, presentRows(rows), work);
  return gather(rows, order, { grouping: 'star', near }, work);
}

/** The stars of rows that must be nearer; rows of versions of one text stay that. */
export async function nearerStars(
  rows: Rows,
  stars: readonly Star[],
  { keep, near: { common: _, ...near } }: GroupRequest,
  work: LongWork,
): Promise<Star[]> {
  const ofVersions = new Uint8Array(rows.codes.count);
  for (const star of stars) if (star.isVersions) for (const row of star.rows) ofVersions[row] = 1;
  const nearer = await starsOf(rows, { keep, near }, work);
  return nearer.map((star) => ({ ...star, isVersions: ofVersions[star.rows[0]] === 1 }));
}

/**
 * The groups of `order`. With common text, rows that are nothing else are grouped among themselves
 * as a whole. Where `stars` were found with it, those of rows with little of it stay as they are,
 * as do those of versions of one text.
 */
export async function gatherApart(
  rows: Rows,
  order: Uint32Array,
  request: GroupRequest,
  stars: Star[] | null,
  work: LongWork,
): Promise<GatheredRows[]> {
  const { common, ...near } = request.near;
  const areStars = request.grouping === 'star' && stars !== null;
  if (common === undefined) return areStars ? stars : gather(rows, order, request, work);
  const isAgain = new Uint8Array(rows.codes.count).fill(1);
  const alone: GatheredRows[] = [];
  if (areStars) {
    const isTemplated = (row: number) => common.isTemplated(row);
    for (const row of order) isAgain[row] = Number(isTemplated(row));
    for (const star of stars) {
      const stays = star.isVersions || !star.rows.some(isTemplated);
      if (stays) alone.push(star);
      for (const row of star.rows) isAgain[row] = Number(!stays);
    }
  }
  const again = order.filter((row) => isAgain[row] === 1);
  const bare = again.filter((row) => common.isBare(row));
  const others = again.filter((row) => !common.isBare(row));
  const ofBare = await gather(rows, bare, { ...request, near }, work);
  return [...alone, ...ofBare, ...(await gather(rows, others, request, work))];
}
