/** Residual codes that files have, by distinct code: those of own or of second partitions. */

import { wrongValue } from '../base/check';
import type { ResidualColumns } from './partitions/residual-codes';

/** Residual codes of some rows as files give them; null where they give none. */
interface Given {
  readonly residuals?: Uint8Array | null | undefined;
  readonly scales?: Float32Array | null | undefined;
}

export class ReadResiduals {
  readonly #bytes: number;
  readonly #codes: number;
  #columns: ResidualColumns | null = null;
  #count = 0;

  /** Of `bytes` bytes each, for up to so many distinct codes. */
  constructor(bytes: number, codes: number) {
    this.#bytes = bytes;
    this.#codes = codes;
  }

  /** Takes those of rows that are distinct codes `distinct` and so on; throws for damaged ones. */
  addAll({ residuals, scales }: Given, count: number, distinct: number): void {
    const columns = this.#columnsFor({ residuals, scales }, count);
    if (columns === null) return;
    columns.codes.set(residuals as Uint8Array, this.#bytes * distinct);
    columns.scales.set(scales as Float32Array, distinct);
    this.#count += count;
  }

  /** Takes that of row `row` of `count` for a distinct code. */
  add({ residuals, scales }: Given, count: number, row: number, distinct: number): void {
    const columns = this.#columnsFor({ residuals, scales }, count);
    if (columns === null) return;
    const bytes = this.#bytes;
    const own = (residuals as Uint8Array).subarray(row * bytes, (row + 1) * bytes);
    columns.codes.set(own, distinct * bytes);
    columns.scales[distinct] = (scales as Float32Array)[row];
    this.#count++;
  }

  /** Throws where scales are none, or codes are of another width. */
  check({ residuals, scales }: Given, count: number): void {
    if (!residuals || !scales) return;
    if (residuals.length !== this.#bytes * count) {
      throw wrongValue('residual', `codes of ${this.#bytes} bytes`, residuals.length / count);
    }
    const wrong = scales.find((scale) => !(scale >= 0 && scale < Number.POSITIVE_INFINITY));
    if (wrong !== undefined) throw wrongValue('residual_scale', 'a finite number from 0 on', wrong);
  }

  /** Those of all of `count` distinct codes; null where some have none. */
  of(count: number): ResidualColumns | null {
    return this.#count === count ? this.#columns : null;
  }

  #columnsFor(given: Given, count: number): ResidualColumns | null {
    if (!given.residuals || !given.scales || count === 0) return null;
    this.#columns ??= {
      codes: new Uint8Array(this.#codes * this.#bytes),
      scales: new Float32Array(this.#codes),
    };
    return this.#columns;
  }
}
