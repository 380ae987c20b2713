/**
 * Reads the buffers of a record batch's body where no column has nulls: they lie one after another,
 * each at a multiple of 8 bytes. Returns views of the body, no copies. Throws where the body ends
 * before a buffer does.
 */

import { checkOneOf } from '../../base/check';
import type { Ids } from '../../base/ids';

const ID_TYPES = ['Utf8', 'Int32', 'Uint32', 'Int64', 'Uint64'] as const;

type Values<T> = new (buffer: ArrayBufferLike, at: number, length: number) => T;
type Sized<T> = Values<T> & { readonly BYTES_PER_ELEMENT: number };

/** Reads the columns of a body in their order, each by the method of its type. */
export class BodyReader {
  #at = 0;

  /** `body` must begin on 8 bytes of its memory; `count` is the number of rows. */
  constructor(
    readonly body: Uint8Array,
    readonly count: number,
  ) {}

  /** The next buffer, of `length` elements; the one after it begins at a multiple of 8 bytes. */
  #take<T>(Kind: Sized<T>, length: number): T {
    const bytes = length * Kind.BYTES_PER_ELEMENT;
    if (this.#at + bytes > this.body.length) throw new Error('damaged: a block is too short');
    const view = new Kind(this.body.buffer, this.body.byteOffset + this.#at, length);
    this.#at = Math.ceil((this.#at + bytes) / 8) * 8;
    return view;
  }

  uint32(): Uint32Array {
    return this.#take(Uint32Array, this.count);
  }

  uint64(): BigUint64Array {
    return this.#take(BigUint64Array, this.count);
  }

  /** `width` numbers a row. */
  float32(width = 1): Float32Array {
    return this.#take(Float32Array, this.count * width);
  }

  /** `width` bytes a row. */
  bytes(width: number): Uint8Array {
    return this.#take(Uint8Array, this.count * width);
  }

  /** Where the elements of each row begin and end: `count + 1` numbers, ascending from 0. */
  offsets(): Int32Array {
    const offsets = this.#take(Int32Array, this.count + 1);
    for (let i = 0; i < this.count; i++) {
      if (offsets[i] > offsets[i + 1]) throw new Error('damaged: offsets of a block do not ascend');
    }
    if (offsets[0] !== 0) throw new Error('damaged: offsets of a block begin beyond 0');
    return offsets;
  }

  /** The elements of all rows, of which `offsets` says how many there are. */
  list<T>(offsets: Int32Array, Kind: Sized<T>): T {
    return this.#take(Kind, offsets[this.count]);
  }

  /** The ids of all rows, of a type as Arrow calls it; throws for a type that ids cannot have. */
  ids(type: string): BlockIds {
    switch (checkOneOf('id', type as (typeof ID_TYPES)[number], ID_TYPES)) {
      case 'Utf8': {
        const offsets = this.offsets();
        return new Texts(offsets, this.list(offsets, Uint8Array));
      }
      case 'Int32':
        return new Integers(this.#take(Int32Array, this.count));
      case 'Uint32':
        return new Integers(this.uint32());
      case 'Int64':
        return new Integers(this.#take(BigInt64Array, this.count));
      default:
        return new Integers(this.#take(BigUint64Array, this.count));
    }
  }
}

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
  constructor(readonly values: Exclude<Ids, readonly string[]>) {}

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
