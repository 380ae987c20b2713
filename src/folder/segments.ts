/**
 * Which files of rows a save keeps and which rows it writes. A file stays while half of its rows
 * are there; new rows take those files with them that are not larger than they are, so that after
 * any number of appends there are few files, and a row was written few times.
 */

import { lowerBound } from '../base/arrays';
import type { FolderFile, Segment } from '../stored/manifest';

/** Row numbers of a file that a save writes. */
export interface Range {
  readonly firstRow: number;
  readonly nextRow: number;
}

interface SegmentPlan {
  /** In the order of their rows; a segment stays as it is. */
  readonly parts: readonly (Segment | Range)[];
}

interface SegmentsNow {
  readonly segments: readonly Segment[];
  /** The rows that are there, ascending. */
  readonly live: Uint32Array;
  /** The number that the next row gets. */
  readonly nextRow: number;
  /** So many rows fill a file. */
  readonly rowsPerFile: number;
}

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

/** Which segments stay: not those that lost half of their rows, nor those that new rows take. */
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

export function rangeOf({ firstRow = 0, nextRow = 0 }: FolderFile): Range {
  return { firstRow, nextRow };
}

/** Ranges of at most so many rows that are there; none where there are none. */
function cut({ firstRow, nextRow }: Range, live: Uint32Array, most: number): Range[] {
  const ranges: Range[] = [];
  const end = lowerBound(live, nextRow);
  for (let at = lowerBound(live, firstRow); at < end; at += most) {
    const last = Math.min(end, at + most) - 1;
    ranges.push({ firstRow: live[at], nextRow: live[last] + 1 });
  }
  return ranges;
}
