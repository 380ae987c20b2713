/**
 * The questions of the page and their answers, as JSON. Server and page share these types; a page
 * in one file holds some of the answers. Long arrays of numbers are base64 of their bytes
 * (packed.ts). A row is a row number of the index or the file; distances are in bits.
 */

/** An array of numbers, packed. */
type Packed = string;

/** What makes rows near in a plan: a largest distance, or a least Jaccard similarity of sets. */
export interface Nearness {
  readonly by: 'distance' | 'jaccard';
  /** The default: bits, or a similarity of 0..1. */
  readonly usual: number;
}

/** What the page shows; its first question. */
export interface About {
  readonly title: string;
  /** How many rows there are. */
  readonly rows: number;
  /** Bits of a code. */
  readonly bits: number;
  /** What distances estimate, as sentences name it. */
  readonly measure: 'cosine' | 'Jaccard similarity';
  /** Whether a query may be a text. */
  readonly hasText: boolean;
  /** Numbers of a query vector; null where a query cannot be one. */
  readonly dimensions: number | null;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** The column of texts that rows are shown by; null without one. */
  readonly textColumn: string | null;
  /** The path of the plan to review or to make; null where there can be none. */
  readonly plan: string | null;
  readonly nearness: Nearness;
}

/** How far the server is: opening the input, or with an answer that takes long. */
export interface Status {
  /** 'ready': all questions are answered. */
  readonly phase: 'working' | 'ready' | 'failed';
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
  /** Holds the exact similarity with a probability of 95 %, as far as the distance tells. */
  readonly interval: readonly [low: number, high: number] | null;
}

/** A search by one of text, id, row and vector, among the rows that meet the filter. */
export interface SearchRequest {
  readonly text?: string;
  readonly id?: string;
  readonly row?: number;
  readonly vector?: readonly number[];
  /** Hits, at most. */
  readonly k: number;
  /** As `--filter` of search (cli/input/filter-text.ts); empty for all rows. */
  readonly filter: string;
}

/** What a search found. */
export interface SearchAnswer {
  /** The row that was searched for; null for a text or a vector. */
  readonly query: Card | null;
  /** The nearest first. */
  readonly hits: readonly Hit[];
  /** What the similarities are, and which rows were compared: `exact cosine of all 60 rows`. */
  readonly compared: string;
  /** The time of the search itself. */
  readonly milliseconds: number;
}

/** The cards of `count` rows from position `first` on, among those that meet the filter. */
interface RowsRequest {
  readonly filter: string;
  readonly first: number;
  readonly count: number;
}

export interface RowsAnswer {
  /** How many rows meet the filter. */
  readonly total: number;
  /** These rows, ascending, Uint32; null without a filter. */
  readonly matching: Packed | null;
  readonly cards: readonly Card[];
}

/** Why two rows, or a text and a row, are near. */
export interface WhyAnswer {
  /** Words that both have, or dimensions, each with its share of the cosine; largest first. */
  readonly together: readonly (readonly [name: string, share: number])[];
  /** Words of the first, and of the second, that the other has not. */
  readonly onlyA: readonly string[];
  readonly onlyB: readonly string[];
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
  /** Sizes are in rows. */
  readonly clusters: readonly { readonly name: string; readonly size: number }[];
}

/** The colours of a column: for each row of the map a category, or 0..255 of a range; Uint8. */
export interface ColoursAnswer {
  readonly values: Packed;
  /** Names of the categories, most frequent first; null for a range of numbers. */
  readonly names: readonly string[] | null;
  /** The numbers at both ends of the range. */
  readonly low: number;
  readonly high: number;
}

/** A group of a plan, in the list of groups. */
export interface GroupLine {
  /** The name of the group: a row number. */
  readonly group: number;
  /** Rows of the group. */
  readonly size: number;
  /** Largest distance of a dropped row to the row that it duplicates. */
  readonly widest: number;
  /** Whether a person has finished with it. */
  readonly isReviewed: boolean;
}

/** The state of the plan. */
export interface ReviewAnswer {
  /** The path of the plan's file. */
  readonly file: string;
  /** False if the file does not exist yet. */
  readonly exists: boolean;
  /** Rows of the collection, and how many of them the plan drops. */
  readonly rows: number;
  readonly dropped: number;
  /** The groups of two rows or more. */
  readonly groups: readonly GroupLine[];
}

/** A row of a group. */
export interface Member {
  readonly row: number;
  readonly id: string;
  readonly isKept: boolean;
  /** The kept row that it duplicates; itself if it is kept. */
  readonly duplicateOf: number;
  /** Bits that differ from that row. */
  readonly distance: number;
  /** Cosine or Jaccard similarity to that row; null for a kept row, and if unknown. */
  readonly similarity: number | null;
  /** The texts that are compared, by column, long ones cut. */
  readonly texts: readonly (readonly [name: string, value: string])[];
}

/** A group with its rows. */
export interface GroupAnswer extends GroupLine {
  /** All rows of the group, and those of them that are kept. */
  readonly rows: readonly number[];
  readonly kept: readonly number[];
  /** The rows that are shown: of a large group the first ones, kept rows before others. */
  readonly members: readonly Member[];
}

/**
 * A decision: the rows of a group to keep, and whether it is reviewed. It is refused unless the
 * group is as `before` says, so that two pages do not undo each other's decisions.
 */
export interface DecideRequest {
  readonly group: number;
  readonly before: { readonly kept: readonly number[]; readonly isReviewed: boolean };
  readonly after: { readonly kept: readonly number[]; readonly isReviewed: boolean };
}

/** What a plan would be at a distance or a similarity, `near`. */
export interface PreviewAnswer {
  readonly near: number;
  /** Groups of two rows or more. */
  readonly groups: number;
  readonly dropped: number;
  /** Rows that the present plan keeps and this one drops, or the reverse; null without a plan. */
  readonly changed: number | null;
}

/** Each question by its name: the fields that are asked, and the answer. */
export interface Questions {
  status: [null, Status];
  about: [null, About];
  rows: [RowsRequest, RowsAnswer];
  cards: [{ readonly rows: readonly number[] }, readonly Card[]];
  search: [SearchRequest, SearchAnswer];
  why: [
    { readonly text?: string; readonly other?: number; readonly row: number },
    WhyAnswer | null,
  ];
  map: [null, MapAnswer];
  colours: [{ readonly column: string }, ColoursAnswer];
  review: [null, ReviewAnswer];
  group: [{ readonly group: number }, GroupAnswer];
  decide: [DecideRequest, GroupAnswer];
  preview: [{ readonly near: number }, PreviewAnswer];
  plan: [{ readonly near: number }, ReviewAnswer];
}

export type Question = keyof Questions;

/** A line of a plan as its file has it; lines may have further columns. */
export interface PlanLine {
  readonly row: number;
  readonly id?: unknown;
  readonly group: number;
  readonly action: 'keep' | 'drop';
  readonly duplicate_of: number;
  readonly distance: number;
  readonly cosine?: number | null;
  readonly jaccard?: number | null;
  readonly reviewed?: boolean;
}

/** A plan to review on a page in one file. */
export interface HeldPlan {
  /** Rows of the collection. */
  readonly rows: number;
  /** All lines of the plan, in their order; those of groups of two rows or more at least. */
  readonly lines: readonly PlanLine[];
  /** The code of each line's row, lowest bit of a byte first. */
  readonly codes: Packed;
  /** Texts of rows; only groups whose rows have texts are shown. */
  readonly texts: readonly (readonly [row: number, text: string])[];
}

/** The map on a page in one file. */
export interface HeldMap extends MapAnswer {
  /** The cards of the map's rows, and their codes in that order, lowest bit of a byte first. */
  readonly cards: readonly Card[];
  readonly codes: Packed;
}

/** What a page in one file holds, in place of a server: a map, a plan, or both. */
export interface Held {
  readonly about: About;
  readonly map: HeldMap | null;
  readonly plan: HeldPlan | null;
}
