/** Which row of a group stays, by words of the command line and by the values of a column. */

import type { Keep, RowBatch } from '../../node';
import type { Call } from '../call';

type Value = string | number | bigint | null;

const PLAIN = ['first', 'last', 'medoid'] as const;
const BY_COLUMN = ['longest', 'lowest', 'highest'] as const;

/**
 * `first`, `last`, `medoid`, `random`, `random:SEED`, `longest`, `longest:COLUMN`,
 * `lowest:COLUMN` or `highest:COLUMN`.
 */
export class KeepPolicy {
  /** What is to be read beside the rows, and handed to `take`. */
  column: string | null;
  readonly #kind: string;
  readonly #seed: number;
  readonly #values: Value[] = [];

  private constructor(kind: string, column: string | null, seed: number) {
    this.#kind = kind;
    this.column = column;
    this.#seed = seed;
  }

  /** Of the option `--keep`. */
  static of(call: Call): KeepPolicy {
    const given = call.text('keep') ?? 'first';
    const [kind, ...rest] = given.split(':');
    const value = rest.length > 0 ? rest.join(':') : null;
    if (PLAIN.includes(kind as never) && value === null) return new KeepPolicy(kind, null, 0);
    if (kind === 'random' && (value === null || /^\d{1,15}$/.test(value))) {
      return new KeepPolicy(kind, null, Number(value ?? 0));
    }
    if (BY_COLUMN.includes(kind as never)) {
      if (value || kind === 'longest') return new KeepPolicy(kind, value || null, 0);
      call.misuse(`--keep ${kind} expected a column: --keep ${kind}:COLUMN`);
    }
    return call.misuse(
      '--keep expected first, last, medoid, random, random:SEED, longest, longest:COLUMN, ' +
        `lowest:COLUMN or highest:COLUMN, got "${given}"`,
    );
  }

  /** The longest text is one of the column that is hashed, where no other is named. */
  lookAt(call: Call, text: string | null): void {
    if (this.#kind !== 'longest' || this.column !== null) return;
    this.column = text ?? call.misuse('--keep longest expected texts, or a column: longest:COLUMN');
  }

  /** The values of the next rows. Of texts their lengths are held, not the texts. */
  take(batch: RowBatch): void {
    if (this.column === null) return;
    if (this.#kind === 'longest') {
      for (const text of batch.texts(this.column)) this.#values.push(text?.length ?? null);
      return;
    }
    const values = batch.values(this.column);
    for (let i = 0; i < values.length; i++) this.#values.push(comparable(values[i], this.column));
  }

  /** The policy for the rows from `first` on. */
  keeper(first = 0): Keep {
    const kind = this.#kind;
    if (kind === 'random') return { random: this.#seed };
    if (this.column === null) return kind as 'first' | 'last' | 'medoid';
    const values = first === 0 ? this.#values : this.#values.slice(first);
    return kind === 'lowest' ? { lowest: values } : { highest: values };
  }
}

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
