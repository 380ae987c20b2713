/**
 * What the page asks and what it is answered, as JSON. The server and the page share these types;
 * a page in one file holds some of the answers. Arrays of many numbers are base64 of their bytes.
 */

/** Bytes of a typed array, lowest byte first, as base64. */
type Packed = string;

/** What makes rows near in a plan: bits that may differ, or the least similarity of sets. */
export interface Nearness {
  readonly by: 'distance' | 'jaccard';
  readonly usual: number;
}

/** What is explored; sent first. */
export interface About {
  readonly title: string;
  readonly rows: number;
  readonly bits: number;
  /** What distances estimate, as sentences name it. */
  readonly measure: 'cosine' | 'Jaccard similarity';
  /** Whether a query may be a text. */
  readonly hasText: boolean;
  /** Values of a query vector; null where a query cannot be one. */
  readonly dimensions: number | null;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** The column whose texts rows are shown by. */
  readonly textColumn: string | null;
  /** The plan that is reviewed, or would be made: a path. Null where none can be. */
  readonly plan: string | null;
  readonly nearness: Nearness;
}

/** Work that is not done yet, or failed. */
export interface Status {
  readonly phase: 'working' | 'ready' | 'failed';
  readonly label: string;
  /** 0..1; null where it is not known. */
  readonly share: number | null;
}

/** A row as it is listed; long values are cut. */
export interface Card {
  readonly row: number;
  readonly id: string;
  readonly text: string | null;
  readonly values: readonly (readonly [name: string, value: string])[];
}

export interface Hit extends Card {
  readonly distance: number;
  readonly similarity: number;
}

/** A search by one of text, id, row and vector. */
export interface SearchRequest {
  readonly text?: string;
  readonly id?: string;
  readonly row?: number;
  readonly vector?: readonly number[];
  readonly k: number;
  readonly filter: string;
}

export interface SearchAnswer {
  /** The row that was searched for; null where it was a text or a vector. */
  readonly query: Card | null;
  readonly hits: readonly Hit[];
  /** Whether similarities are exact or estimated. */
  readonly isExact: boolean;
  /** What the similarities are, and of how many bits the distances are. */
  readonly measure: About['measure'];
  readonly bits: number;
  readonly milliseconds: number;
}

interface RowsRequest {
  readonly filter: string;
  readonly first: number;
  readonly count: number;
}

export interface RowsAnswer {
  /** Rows that the filter lets through. */
  readonly total: number;
  /** Their numbers, Uint32; sent with a filter only. */
  readonly matching: Packed | null;
  readonly cards: readonly Card[];
}

/** Why two rows, or a text and a row, are near. */
export interface WhyAnswer {
  /** Words that both have, or dimensions, with their part of the cosine. */
  readonly together: readonly (readonly [name: string, share: number])[];
  readonly onlyA: readonly string[];
  readonly onlyB: readonly string[];
}

interface ClusterName {
  readonly name: string;
  readonly size: number;
}

/** Where rows lie. Places are Uint16, 0..65,535 across the longer side of the map. */
export interface MapAnswer {
  readonly rows: Packed;
  readonly x: Packed;
  readonly y: Packed;
  /** By position in `rows` a cluster, Uint8. */
  readonly labels: Packed;
  readonly clusters: readonly ClusterName[];
  /** Whether the map of these rows, in the same order, is still to come. */
  readonly isDraft: boolean;
}

/** A column as colours: of each placed row a category, or 0..255 of a range; Uint8. */
export interface ColoursAnswer {
  readonly values: Packed;
  /** Names of the categories, most frequent first; null of a range. */
  readonly names: readonly string[] | null;
  readonly low: number;
  readonly high: number;
}

/** A group of a plan, in a list. */
export interface GroupLine {
  readonly group: number;
  readonly size: number;
  /** Largest distance of a dropped row to the row that it duplicates. */
  readonly widest: number;
  readonly isReviewed: boolean;
}

export interface ReviewAnswer {
  readonly file: string;
  /** False where the file does not exist yet. */
  readonly exists: boolean;
  readonly rows: number;
  readonly dropped: number;
  readonly groups: readonly GroupLine[];
}

export interface Member {
  readonly row: number;
  readonly id: string;
  readonly isKept: boolean;
  readonly duplicateOf: number;
  /** Bits that differ from the row that it duplicates. */
  readonly distance: number;
  /** Cosine or Jaccard similarity to it, where it is known. */
  readonly similarity: number | null;
  /** The texts that are compared, long ones cut. */
  readonly texts: readonly (readonly [name: string, value: string])[];
}

export interface GroupAnswer extends GroupLine {
  /** All rows of the group, and those of them that are kept. */
  readonly rows: readonly number[];
  readonly kept: readonly number[];
  /** The rows that are shown: of a large group the first, kept ones before others. */
  readonly members: readonly Member[];
}

/** The rows of a group that are kept; refused where the group is not as `before` says. */
export interface DecideRequest {
  readonly group: number;
  readonly before: { readonly kept: readonly number[]; readonly isReviewed: boolean };
  readonly after: { readonly kept: readonly number[]; readonly isReviewed: boolean };
}

/** What a plan would be at a distance or similarity. */
export interface PreviewAnswer {
  readonly near: number;
  readonly groups: number;
  readonly dropped: number;
  /** Rows that the plan under review treats otherwise; null where there is none. */
  readonly changed: number | null;
}

/** A table of words for people. */
export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A chart: columns of numbers over the first, null where there is no value. */
export interface Chart {
  readonly kind: 'lines' | 'bars' | 'points' | 'band';
  /** What it shows, for those who do not see it. */
  readonly description: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly isLogX?: boolean;
  readonly isLogY?: boolean;
  /** Y is a share of 1. */
  readonly isShare?: boolean;
  readonly x: readonly number[];
  readonly series: readonly { readonly name: string; readonly y: readonly (number | null)[] }[];
  /** A value of x that is marked by a line, and what it is. */
  readonly mark?: readonly [x: number, name: string] | null;
}

/** A part of a page of figures. */
export interface Section {
  readonly name: string;
  readonly heading: string;
  readonly sentences: readonly string[];
  readonly tone?: 'good' | 'bad';
  readonly chart?: Chart;
  readonly table?: Table;
  /** A command line, to be copied. */
  readonly command?: string;
}

/** What a distance finds in the sample: pairs near by cosine. */
interface ThresholdLine {
  readonly maxDistance: number;
  readonly precision: number;
  readonly recall: number;
}

/** What a plan of sets finds in the sample: pairs at a Jaccard similarity or more. */
interface SetLine {
  readonly least: number;
  readonly pairs: number;
  readonly recall: number;
}

export interface HealthAnswer {
  readonly sections: readonly Section[];
  /** By distance from 0; empty where nothing was measured. */
  readonly thresholds: readonly ThresholdLine[];
  /** By least Jaccard similarity, ascending; empty where the rows are no sets. */
  readonly sets: readonly SetLine[];
  readonly recommended: number | null;
  readonly minCosine: number;
}

/** Each question by its name: what is asked and what is answered. */
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
  map: [{ readonly mayBeDraft: boolean }, MapAnswer];
  colours: [{ readonly column: string }, ColoursAnswer];
  health: [null, HealthAnswer];
  review: [null, ReviewAnswer];
  group: [{ readonly group: number }, GroupAnswer];
  decide: [DecideRequest, GroupAnswer];
  preview: [{ readonly near: number }, PreviewAnswer];
  plan: [{ readonly near: number }, ReviewAnswer];
}

export type Question = keyof Questions;

/** A line of a plan, as its file has it. */
export interface PlanLine {
  readonly row: number;
  readonly id?: unknown;
  readonly group: number;
  action: 'keep' | 'drop';
  duplicate_of: number;
  distance: number;
  cosine?: number | null;
  jaccard?: number | null;
}

/** A plan on a page in one file. */
export interface HeldReview {
  readonly lines: readonly PlanLine[];
  /** Their codes, lsb first. */
  readonly codes: Packed;
  /** By row the texts of the groups that are shown. */
  readonly texts: readonly (readonly [row: number, text: string])[];
}

/** What a page in one file holds, in place of a server. */
export interface Held {
  readonly title: string;
  readonly about: About | null;
  readonly map: MapAnswer | null;
  /** Cards of the placed rows, or of some of them, with their codes: lsb first, packed. */
  readonly cards: readonly Card[];
  readonly codes: Packed | null;
  readonly health: HealthAnswer;
  /** Of a page that `dedup` wrote. */
  readonly review?: HeldReview;
}
