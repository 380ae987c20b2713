/**
 * The questions of the page and their answers, as JSON. Server and page share these types; a page
 * in one file holds some of the answers. A row is a row number of the index or the file; distances
 * are in bits.
 */

/** What the page shows; its first question. */
export interface About {
  readonly title: string;
  readonly rows: number;
  readonly bits: number;
  /** What distances estimate, as sentences name it. */
  readonly measure: 'cosine' | 'Jaccard similarity';
  readonly columns: readonly string[];
}

/** How far the server is with an answer that takes long. */
export interface Status {
  /** The work that runs; empty for none. */
  readonly label: string;
  /** The part that is done, 0..1; null if unknown. */
  readonly share: number | null;
}

/** A row as it is listed; long values are cut. */
export interface Card {
  readonly row: number;
  readonly id: string;
  /** The text that the row is shown by; null without a column of texts. */
  readonly text: string | null;
  /** Values of the other columns, without nulls. */
  readonly values: readonly (readonly [name: string, value: string])[];
}

/** A row that a search found, with how near it is to the query. */
export interface Hit extends Card {
  readonly similarity: number;
  /** Bits that differ; null where codes were not compared. */
  readonly distance: number | null;
}

/** What to look for, among the rows that meet the filter. */
export interface FindRequest {
  /** The id of a row, else a text; blank to list all. */
  readonly query: string;
  /** A row, in place of a query. */
  readonly row?: number;
  /** As `--filter` of search (cli/input/filter-text.ts); empty for all rows. */
  readonly filter: string;
}

export interface FindAnswer {
  /** The row that was searched for; null for a text, and where nothing was. */
  readonly near: Card | null;
  /** Hits of a search, the nearest first; else the first rows that meet the filter. */
  readonly cards: readonly (Card | Hit)[];
  /** What similarities are, and which rows were compared, as `exact cosine of all 60 rows`. */
  readonly compared: string | null;
  /** How many rows meet the filter, and which, ascending; null without a filter. */
  readonly total: number;
  readonly matching: readonly number[] | null;
}

/** A cluster: its name, how many rows it has, and the median of their places. */
interface MapCluster {
  readonly name: string;
  readonly size: number;
  readonly x: number;
  readonly y: number;
}

/** Where rows are on the map. Arrays are parallel: one element for each row of the map. */
export interface MapAnswer {
  /** Ascending. */
  readonly rows: readonly number[];
  /** 0..65,535 across the longer side of the map, from the left and from the top. */
  readonly x: readonly number[];
  readonly y: readonly number[];
  /** The cluster of each row, as an index into `clusters`. */
  readonly labels: readonly number[];
  readonly clusters: readonly MapCluster[];
}

export interface GroupLine {
  /** The name of the group: a row number. */
  readonly group: number;
  readonly size: number;
  /** How many rows it drops. */
  readonly dropped: number;
  /** Largest distance of a dropped row to the row that it duplicates. */
  readonly widest: number;
  /** Lowest similarity of them; null if the plan has none. */
  readonly lowest: number | null;
  readonly isReviewed: boolean;
}

export interface ReviewAnswer {
  readonly file: string;
  /** Rows of the collection, and how many of them the plan drops. */
  readonly rows: number;
  readonly dropped: number;
  readonly groups: readonly GroupLine[];
}

export interface Member {
  readonly row: number;
  readonly id: string;
  readonly isKept: boolean;
  /** The kept row that it duplicates; itself if it is kept. */
  readonly duplicateOf: number;
  readonly distance: number;
  /** Cosine or Jaccard similarity to that row; null for a kept row, and if unknown. */
  readonly similarity: number | null;
  /** The texts that are compared, by column, long ones cut. */
  readonly texts: readonly (readonly [name: string, value: string])[];
}

export interface GroupAnswer extends GroupLine {
  /** All rows of the group, and those of them that are kept. */
  readonly rows: readonly number[];
  readonly kept: readonly number[];
  /** The rows that are shown: of a large group the first ones. */
  readonly members: readonly Member[];
}

/** What is decided of a group: the rows to keep, and whether it is reviewed. */
export interface Decision {
  readonly kept: readonly number[];
  readonly isReviewed: boolean;
}

/**
 * A decision about a group. It is refused unless the group is as `before` says, so that two pages
 * do not undo each other's decisions.
 */
export interface DecideRequest {
  readonly group: number;
  readonly before: Decision;
  readonly after: Decision;
}

/** Each question by its name: the fields that are asked, and the answer. */
export interface Questions {
  status: [null, Status];
  about: [null, About];
  find: [FindRequest, FindAnswer];
  cards: [{ readonly rows: readonly number[] }, readonly Card[]];
  ids: [{ readonly text: string }, readonly string[]];
  map: [null, MapAnswer];
  review: [null, ReviewAnswer];
  group: [{ readonly group: number }, GroupAnswer];
  decide: [DecideRequest, GroupAnswer];
}

export type Question = keyof Questions;

export interface HeldMap extends MapAnswer {
  /** The cards of the map's rows. */
  readonly cards: readonly Card[];
}

/** What a page in one file holds, in place of a server. */
export interface Held {
  readonly about: About;
  /** Null without rows. */
  readonly map: HeldMap | null;
}

/** Cards of one answer, and so rows of a list, at most. */
export const MAX_CARDS = 100;

/** 1234567 as `1,234,567`. */
export function grouped(value: number | bigint): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `1 row`, `12 rows`. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** A similarity of at most so many digits, without the 0 before the point: `.832`, `1`, `−.05`. */
export function shareText(value: number, digits = 3): string {
  if (value >= 1 - 0.5 / 10 ** digits) return '1';
  if (Math.abs(value) < 0.5 / 10 ** digits) return '0';
  return value.toFixed(digits).replace('-', '−').replace('0.', '.');
}
