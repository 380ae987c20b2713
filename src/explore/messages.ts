/**
 * The questions of the page and their answers, as JSON. Server and page share these types; a page
 * in one file holds some of the answers. Long arrays of numbers are base64 of their bytes, lowest
 * byte first (`packed`). A row is a row number of the index or the file; distances are in bits.
 */

/** An array of numbers as the base64 of its bytes. */
type Packed = string;

/** What the page shows; its first question. */
export interface About {
  readonly title: string;
  readonly rows: number;
  readonly bits: number;
  /** What distances estimate, as sentences name it. */
  readonly measure: 'cosine' | 'Jaccard similarity';
  readonly hasText: boolean;
  readonly columns: readonly string[];
}

/** How far the server is with an answer that takes long. */
export interface Status {
  /** 'opening' until the server has answered, 'failed' where it does not answer. */
  readonly phase: 'opening' | 'ready' | 'failed';
  /** The work that runs, or why it failed. */
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

/** A search by one of text, id and row, among the rows that meet the filter. */
export interface SearchRequest {
  readonly text?: string;
  readonly id?: string;
  readonly row?: number;
  /** Hits, at most. */
  readonly k: number;
  /** As `--filter` of search (cli/input/filter-text.ts); empty for all rows. */
  readonly filter: string;
}

export interface SearchAnswer {
  /** The row that was searched for; null for a text. */
  readonly query: Card | null;
  readonly hits: readonly Hit[];
  /** What the similarities are, and which rows were compared: `exact cosine of all 60 rows`. */
  readonly compared: string;
}

export interface RowsAnswer {
  readonly total: number;
  /** These rows, ascending, Uint32; null without a filter. */
  readonly matching: Packed | null;
  /** The cards of the first of them. */
  readonly cards: readonly Card[];
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
  /** Ascending, Uint32. */
  readonly rows: Packed;
  /** Uint16: 0..65,535 across the longer side of the map, from the left and from the top. */
  readonly x: Packed;
  readonly y: Packed;
  /** The cluster of each row, as an index into `clusters`, Uint8. */
  readonly labels: Packed;
  readonly clusters: readonly MapCluster[];
}

export interface GroupLine {
  /** The name of the group: a row number. */
  readonly group: number;
  readonly size: number;
  /** Largest distance of a dropped row to the row that it duplicates. */
  readonly widest: number;
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
  rows: [{ readonly filter: string }, RowsAnswer];
  cards: [{ readonly rows: readonly number[] }, readonly Card[]];
  ids: [{ readonly text: string }, readonly string[]];
  search: [SearchRequest, SearchAnswer];
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

/** Bytes that become characters in one call: engines limit the number of arguments. */
const BLOCK = 2 ** 15;

/** The bytes of an array of numbers as base64. */
export function packed({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  const parts: string[] = [];
  for (let at = 0; at < byteLength; at += BLOCK) {
    parts.push(String.fromCharCode(...bytes.subarray(at, at + BLOCK)));
  }
  return btoa(parts.join(''));
}

/** The bytes of a base64 text, as a new array; those of wider numbers are read by its buffer. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = characters.charCodeAt(at);
  return bytes;
}

/** The same as numbers of 32 bits. */
export const uint32Of = (text: string) => new Uint32Array(bytesOf(text).buffer);

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
