/**
 * Chooses which segments a save keeps and which rows it writes. A segment stays while at least half
 * of its rows are live. New rows are merged with the last segments as long as these are not larger,
 * so that after any number of appends there are few segments, and each row has been written only a
 * few times.
 */

import { lowerBound } from '../base/arrays';
import type { FolderFile, Segment } from '../stored/manifest';

/** The row numbers from `firstRow` to `nextRow - 1`. */
export interface Range {
  readonly firstRow: number;
  readonly nextRow: number;
}

/** What the next generation has. */
interface SegmentPlan {
  /** In ascending order of rows: segments that stay, and ranges of rows that are written. */
  readonly parts: readonly (Segment | Range)[];
}

/** What is known before a save. */
interface SegmentsNow {
  readonly segments: readonly Segment[];
  /** The rows of the index, ascending. */
  readonly live: Uint32Array;
  /** One more than the highest row number. */
  readonly nextRow: number;
  /** Most rows of a segment. */
  readonly rowsPerFile: number;
}

/** The segments of the next generation, for an index in memory. */
export function planSegments({ segments, live, nextRow, rowsPerFile }: SegmentsNow): SegmentPlan {
  const countOf = ({ firstRow, nextRow: end }: Range) =>
    lowerBound(live, end) - lowerBound(live, firstRow);
  const written = segments.at(-1)?.rows.nextRow ?? 0;
  const keeps = keptSegments(segments, {
    ...{ rowsPerFile, added: countOf({ firstRow: written, nextRow }) },
    liveIn: ({ rows }) => countOf(rangeOf(rows)),
  });
  const parts: (Segment | Range)[] = [];
  let firstRow = 0;
  segments.forEach((segment, i) => {
    if (!keeps[i]) return;
    const own = rangeOf(segment.rows);
    parts.push(...cut({ firstRow, nextRow: own.firstRow }, live, rowsPerFile), segment);
    firstRow = own.nextRow;
  });
  parts.push(...cut({ firstRow, nextRow }, live, rowsPerFile));
  return { parts };
}

/**
 * Which segments stay: those with at least half of their rows live, except the last ones if they
 * are merged with the `added` rows.
 */
export function keptSegments(
  segments: readonly Segment[],
  {
    added,
    rowsPerFile,
    liveIn,
  }: { added: number; rowsPerFile: number; liveIn: (segment: Segment) => number },
): boolean[] {
  const keeps = segments.map((segment) => 2 * liveIn(segment) >= segment.rows.rows);
  let pending = added;
  // From the end backwards, since only neighbours can merge; the first larger segment stops the
  // merge.
  for (let i = segments.length - 1; i >= 0 && pending > 0; i--) {
    const { rows } = segments[i];
    if (keeps[i] && (rows.rows > pending || rows.rows >= rowsPerFile)) break;
    keeps[i] = false;
    pending += liveIn(segments[i]);
  }
  return keeps;
}

export function isSegment(part: Segment | Range): part is Segment {
  return 'rows' in part;
}

/** The row numbers of a file of rows. */
export function rangeOf({ firstRow = 0, nextRow = 0 }: FolderFile): Range {
  return { firstRow, nextRow };
}

/** Ranges of at most `most` live rows each, which cover all live rows of a range. */
function cut({ firstRow, nextRow }: Range, live: Uint32Array, most: number): Range[] {
  const ranges: Range[] = [];
  const end = lowerBound(live, nextRow);
  for (let at = lowerBound(live, firstRow); at < end; at += most) {
    const last = Math.min(end, at + most) - 1;
    ranges.push({ firstRow: live[at], nextRow: live[last] + 1 });
  }
  return ranges;
}
