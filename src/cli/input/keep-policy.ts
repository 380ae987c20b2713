/**
 * Which row of a group stays, by the words of `--keep`, and the values of a column that decide it:
 * they are collected while the rows are read.
 */

import type { Keep, RowBatch } from '../../node';
import type { Call } from '../call';
import { columnOf } from './columns';
import type { HashSource } from './hashing';

type Value = string | number | bigint | null;

const FORMS =
  'first, last, medoid, random, random:SEED, longest, longest:COLUMN, lowest:COLUMN or ' +
  'highest:COLUMN';
/** A kind, and after a colon its seed or column. */
const FORM =
  /^(?:(first|last|medoid)|(random)(?::(\d{1,15}))?|(longest|lowest|highest)(?::(.*))?)$/s;

/** A rule, and the values that it needs; `take` must see all rows, in their order. */
export class KeepPolicy {
  /** The column that must be read, for `take`; null for rules that need none. */
  column: string | null;
  readonly #kind: string;
  readonly #seed: number;
  readonly #values: Value[] = [];

  /** By the option `--keep`. */
  constructor(call: Call) {
    const given = call.text('keep') ?? 'first';
    const [isKnown, plain, random, seed, byColumn, column] = FORM.exec(given) ?? [];
    if (isKnown === undefined) call.misuse(`--keep expected ${FORMS}, got "${given}"`);
    this.#kind = plain ?? random ?? byColumn;
    if (byColumn !== undefined && byColumn !== 'longest' && !column) {
      call.misuse(`--keep ${byColumn} expected a column: --keep ${byColumn}:COLUMN`);
    }
    this.#seed = Number(seed ?? 0);
    this.column = column || null;
  }

  /**
   * Fails where the input has no such column; an index folder, which has no source, has none. The
   * longest text is one of the column that is hashed, where no other is named.
   */
  check(call: Call, source: HashSource | null): void {
    if (this.#kind === 'longest' && this.column === null) {
      if (source?.kind !== 'text') {
        call.misuse('--keep longest expected texts, or a column: longest:COLUMN');
      }
      this.column = source.columns[0];
    }
    if (this.column === null) return;
    if (source === null) {
      call.misuse('--keep by a column needs a file, an index has its codes only');
    }
    columnOf(call, source.reader, this.column);
  }

  /** Takes the values of the next rows. Of texts it holds the lengths, not the texts. */
  take(batch: RowBatch): void {
    const { column } = this;
    if (column === null) return;
    const isLength = this.#kind === 'longest';
    const values: readonly unknown[] = isLength
      ? batch.texts(column).map((text) => text?.length ?? null)
      : batch.values(column);
    for (const value of values) this.#values.push(comparable(value, column));
  }

  /** The rule for the rows from `first` on. */
  keep(first = 0): Keep {
    if (this.#kind === 'random') return { random: this.#seed };
    if (this.column === null) return this.#kind as 'first' | 'last' | 'medoid';
    const values = first === 0 ? this.#values : this.#values.slice(first);
    return this.#kind === 'lowest' ? { lowest: values } : { highest: values };
  }
}

/** A value of a column as one that has an order; nested values have none. */
function comparable(value: unknown, column: string): Value {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return Number(value);
  if (value instanceof Date) return value.getTime();
  if (typeof value === 'object') {
    throw new TypeError(
      `column "${column}" expected numbers or strings to go by, got nested values`,
    );
  }
  return value as Value;
}
