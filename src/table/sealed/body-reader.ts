/**
 * Reads the body of a record batch by the declaration of its columns, where none has nulls: buffers
 * lie one after another, each at a multiple of 8 bytes. Returns views of the body, no copies.
 * Throws where the body ends before a buffer does.
 */

import { padded } from '../../base/arrays';
import { checkOneOf } from '../../base/check';
import type { Ids } from '../../base/ids';
import { type NumberArray, numberType } from '../columns/types';
import type { ColumnSchema, Lists } from './sealed-table';

/** By the name that Arrow has for it, the type of the integers of ids. */
const ID_KINDS = { Int32: 'int32', Uint32: 'uint32', Int64: 'int64', Uint64: 'uint64' } as const;
const ID_TYPES = ['Utf8', 'Int32', 'Uint32', 'Int64', 'Uint64'] as const;

/** The values of the columns of a body by their names. */
type BodyRows = Readonly<Record<string, NumberArray | Lists | BlockIds | undefined>>;

type View<T> = (new (
  buffer: ArrayBufferLike,
  at: number,
  length: number,
) => T) & {
  readonly BYTES_PER_ELEMENT: number;
};

/**
 * The first columns of a body, which must begin on 8 bytes of its memory, of `count` rows. `id` is
 * the type of ids, as Arrow calls it; one that ids cannot have throws.
 */
export function readBody(
  columns: readonly ColumnSchema[],
  body: Uint8Array,
  count: number,
  id: string | null = null,
): BodyRows {
  let at = 0;
  const take = <T>(Kind: View<T>, length: number): T => {
    const bytes = length * Kind.BYTES_PER_ELEMENT;
    if (at + bytes > body.length) throw new Error('damaged: a block is too short');
    const view = new Kind(body.buffer, body.byteOffset + at, length);
    at = padded(at + bytes);
    return view;
  };
  const numbers = (kind: Parameters<typeof numberType>[0], length: number) =>
    take(numberType(kind).Values as unknown as View<NumberArray>, length);
  const rows: Record<string, NumberArray | Lists | BlockIds> = {};
  for (const { name, type } of columns) {
    if (type === 'ids') {
      const kind = checkOneOf('id', id as (typeof ID_TYPES)[number], ID_TYPES);
      if (kind === 'Utf8') {
        const offsets = checkedOffsets(take(Int32Array, count + 1));
        rows[name] = new Texts(offsets, take(Uint8Array, offsets[count]));
      } else rows[name] = new Integers(numbers(ID_KINDS[kind], count) as IntegerIds);
    } else if (typeof type === 'string') rows[name] = numbers(type, count);
    else if ('bytes' in type) rows[name] = take(Uint8Array, count * type.bytes);
    else if ('vector' in type) rows[name] = numbers(type.vector, count * (type.width ?? 1));
    else {
      const offsets = checkedOffsets(take(Int32Array, count + 1));
      rows[name] = { offsets, items: numbers(type.list, offsets[count]) };
    }
  }
  return rows;
}

/** Where the elements of each row begin and end: numbers that ascend from 0. */
function checkedOffsets(offsets: Int32Array): Int32Array {
  for (let i = 1; i < offsets.length; i++) {
    if (offsets[i - 1] > offsets[i]) throw new Error('damaged: offsets of a block do not ascend');
  }
  if (offsets[0] !== 0) throw new Error('damaged: offsets of a block begin beyond 0');
  return offsets;
}

type IntegerIds = Exclude<Ids, readonly string[]>;

/** The ids of a block, in views of its body. */
export interface BlockIds {
  /** The id of the row at a position in the block. */
  at(place: number): string | number | bigint;
  /** The ids of all rows; of integers a view. */
  all(): Ids;
  /** A copy, so that the body can be freed. */
  copy(): BlockIds;
}

class Integers implements BlockIds {
  constructor(readonly values: IntegerIds) {}

  at(place: number): number | bigint {
    return this.values[place];
  }

  all(): Ids {
    return this.values;
  }

  copy(): BlockIds {
    return new Integers(this.values.slice());
  }
}

const decoder = /* @__PURE__ */ new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Texts, which are decoded when they are read. */
class Texts implements BlockIds {
  constructor(
    readonly offsets: Int32Array,
    readonly bytes: Uint8Array,
  ) {}

  at(place: number): string {
    return decoder.decode(this.bytes.subarray(this.offsets[place], this.offsets[place + 1]));
  }

  all(): string[] {
    // All texts are decoded by one call where possible.
    const { offsets, bytes } = this;
    const places = Array.from({ length: offsets.length - 1 }, (_, place) => place);
    const text = decoder.decode(bytes);
    if (text.length < bytes.length) return places.map((place) => this.at(place));
    // All characters are ASCII, so offsets count characters: one decoding is ten times as fast.
    return places.map((place) => text.slice(offsets[place], offsets[place + 1]));
  }

  copy(): BlockIds {
    return new Texts(this.offsets.slice(), this.bytes.slice());
  }
}
