/**
 * Filters: which rows a search may return. A function is asked for each row that is near enough;
 * the rows of a short list are compared one by one.
 */

import { checkAttached, checkInteger, wrongType } from '../base/check';
import { NO_ROW } from '../kernels/hits';
import { type Id, MAX_ROWS } from './ids';

/** Which rows a search may return: those that a function accepts, or those of a set of rows. */
export type Filter<I extends Id = Id> =
  | ((id: I, row: number) => boolean)
  | Uint32Array
  | readonly number[]
  | ReadonlySet<number>;

/** A checked filter, which accepts rows one by one. */
export interface RowFilter {
  accepts(row: number): boolean;
  /**
   * The allowed rows, ascending, each once; null where a function of the user decides, which may
   * start another search.
   */
  readonly rows: readonly number[] | null;
}

/**
 * Checks a filter and copies its rows; null without one. A function of the user is called by `ask`,
 * which must refuse changes of the index meanwhile (`IndexCore.accepts`).
 */
export function checkFilter(
  filter: unknown,
  ask: (filter: (id: Id, row: number) => unknown, row: number) => unknown,
): RowFilter | null {
  if (filter === undefined) return null;
  if (typeof filter === 'function') {
    const accepts = (row: number) => answerOf(ask(filter as (id: Id) => unknown, row));
    return { accepts, rows: null };
  }
  const isRows = filter instanceof Set || filter instanceof Uint32Array || Array.isArray(filter);
  if (!isRows) throw wrongType('filter', 'a function, or rows as an array or a Set', filter);
  checkAttached('filter', filter);
  const allowed = new Set<number>();
  for (const row of filter as Iterable<unknown>) {
    allowed.add(checkInteger('a row of filter', row, 0, MAX_ROWS));
  }
  const rows = [...allowed].sort((a, b) => a - b);
  return { accepts: (row) => allowed.has(row), rows };
}

/** What a function of the user answered; a promise, which would accept each row, is refused. */
function answerOf(answer: unknown): boolean {
  if (typeof answer === 'boolean' || !(answer instanceof Promise)) return Boolean(answer);
  answer.catch(() => {});
  throw new TypeError('"filter" expected a function that answers at once, got a promise');
}

/** A filter is narrow if it accepts less than this part of the rows that it was asked for, */
const NARROW = 1 / 64;
/** once it was asked for this many rows. */
const CALLS = 1024;

/**
 * A filter during one search: a function is asked for a row at most once, and its answers are
 * remembered. Where it accepts so few of the candidates that looking for more would take longer
 * than comparing what it accepts, it is asked for all rows.
 */
export class FilterMemory {
  /** True if a function of the user decides, which is given the ids of rows. */
  readonly isUserCode: boolean;
  #accepts: (row: number) => boolean;
  readonly #isShort: boolean;
  readonly #answers = new Map<number, boolean>();
  readonly #found: number[] = [];
  #accepted = 0;
  /** All rows that are accepted and have a code, ascending; null while they are not known. */
  known: Uint32Array | null;

  /** `isShort` is true of a list of so few rows that it is narrow from the beginning. */
  constructor({ accepts, rows }: RowFilter, known: Uint32Array | null = null, isShort = false) {
    this.#accepts = accepts;
    this.isUserCode = rows === null;
    this.known = known;
    this.#isShort = isShort;
  }

  /** Whether it accepts few rows, and these are not known: then it should be asked for all rows. */
  get isNarrow(): boolean {
    const { size } = this.#answers;
    const isSeen = size >= CALLS && this.#accepted < NARROW * size;
    return this.known === null && (this.#isShort || isSeen);
  }

  accepts(row: number): boolean {
    const known = this.#answers.get(row);
    if (known !== undefined) return known;
    const answer = this.#accepts(row);
    this.#answers.set(row, answer);
    if (answer) this.#accepted++;
    return answer;
  }

  /** Asks for some of all rows, each once; places without a row are skipped. */
  ask(rows: Uint32Array): void {
    for (const row of rows) {
      if (row === NO_ROW) continue;
      // Not remembered one by one, since all rows of an index are asked for.
      if (this.#answers.get(row) ?? this.#accepts(row)) this.#found.push(row);
    }
  }

  /** Once it was asked for all rows: those that it accepts. */
  know(): Uint32Array {
    const found = new Set(this.#found);
    this.#accepts = (row) => found.has(row);
    this.known = Uint32Array.from(this.#found).sort();
    return this.known;
  }
}
