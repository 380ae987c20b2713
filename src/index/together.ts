/**
 * Many queries over rows in memory. Where they search the partitions of one segment they do so
 * together: in each round partition after partition, so that entries which several of them look at
 * are read once. What a search finds does not depend on the order in which it looks at the entries
 * of a round, so the answers are those of one search after another.
 */

import { type EntryList, EntryRooms } from '../kernels/residuals';
import { Answer, type AnsweredIndex } from './answer';
import { Ranges } from './entries';
import type { Queries } from './query';
import type { Request } from './request';
import type { SearchResult } from './result';
import type { Looking } from './search';
import { run, type Searched } from './searched';
import { Segment } from './segment';

/** Most searches that run together: more would have more state than caches hold. */
export const MAX_TOGETHER = 128;

/** Ranges of one call of the kernel. */
const ranges = new Ranges();

/** The answers to queries `first` to `end - 1`, all rows at hand. */
export function answersTogether(
  index: AnsweredIndex,
  queries: Queries,
  [first, end]: readonly [first: number, end: number],
  request: Request,
): SearchResult[] {
  const results: SearchResult[] = [];
  for (let from = first; from < end; from += MAX_TOGETHER) {
    const answers: Answer[] = [];
    for (let i = from; i < Math.min(end, from + MAX_TOGETHER); i++) {
      answers.push(new Answer(index, queries.at(i), request));
    }
    if (answers.length > 1) lookTogether(index.searched(), answers);
    for (const answer of answers) results.push(run(answer).result);
  }
  return results;
}

/** Looks at all entries that the searches want, where they lie in one segment. */
function lookTogether({ parts, space }: Searched, answers: readonly Answer[]): void {
  const [part] = parts;
  if (parts.length !== 1 || !(part instanceof Segment) || part.entries === null) return;
  const list: EntryList = part.entries;
  if (list.memory.bytes.length === 0) return; // null rows alone
  const rooms = EntryRooms.of(list, MAX_TOGETHER);
  while (rooms !== null) {
    const looking = answers.map((answer) => answer.looking);
    if (looking.every((one) => one === null)) return;
    const states = looking.map((one, i) => {
      if (one?.begins) one.entries.begin();
      return one?.entries.enter(list, rooms.all[i]);
    });
    part.addEntries(visitsOf(looking, space?.count ?? 0, rooms.roomBytes), ranges.clear());
    rooms.look(list, ranges.numbers, states);
    for (const [i, one] of looking.entries()) if (one !== null) answers[i].looked();
  }
}

/** The visits of all searches, by partition; search i has the i-th room. */
function visitsOf(looking: readonly (Looking | null)[], count: number, roomBytes: number) {
  const next = new Uint32Array(count + 1);
  for (const one of looking) for (const p of one?.probes.partitions ?? []) next[p + 1]++;
  for (let p = 0; p < count; p++) next[p + 1] += next[p];
  const partitions = new Uint32Array(next[count]);
  const products = new Float64Array(next[count]);
  const rooms = new Uint32Array(next[count]);
  for (const [search, one] of looking.entries()) {
    for (const [i, p] of one?.probes.partitions.entries() ?? []) {
      const at = next[p]++;
      partitions[at] = p;
      products[at] = (one as Looking).probes.products[i];
      rooms[at] = search * roomBytes;
    }
  }
  return { partitions, products, rooms };
}
