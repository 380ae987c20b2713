/** An index in memory as its recall is measured: with trial rows, while they are tried. */

import type { LongWork } from '../base/long-work';
import type { IndexCore } from './index-core';
import type { Layout, MemoryIndex } from './memory-index';
import { Evaluable, type EvaluationSearch, type Partitions, type RowPlace } from './recall';
import type { Best } from './search';
import { run } from './searched';
import type { Chunks, EvaluationQuery } from './truth';

export class MemoryEvaluable extends Evaluable<MemoryEvaluable> {
  readonly held: MemoryIndex;
  readonly #core: IndexCore;
  readonly rows: number;

  constructor(core: IndexCore, held: MemoryIndex) {
    super(core, held.layout);
    this.#core = core;
    this.held = held;
    this.rows = held.codedCount;
  }

  get count(): number {
    return this.held.count;
  }

  protected chunks(): Chunks {
    return this.held.chunks();
  }

  async placed(layout: Layout, work: LongWork): Promise<MemoryEvaluable> {
    return new MemoryEvaluable(this.#core, await this.held.placed(layout, work));
  }

  protected async placeOf(row: number): Promise<RowPlace> {
    const found = this.held.find(row);
    if (found === null) throw new RangeError(`there is no row ${row}`);
    const { position, part } = found;
    return { vectors: part.rows.vectors, position, code: part.rows.codeAt(position) };
  }

  async partitionsOf(rows: Uint32Array): Promise<Partitions> {
    const { hasCopies } = this.layout;
    const own = new Uint32Array(rows.length);
    const seconds = hasCopies ? new Uint32Array(rows.length) : null;
    for (let i = 0; i < rows.length; i++) {
      const found = this.held.find(rows[i]);
      if (found === null) continue;
      own[i] = found.part.partitionOf(found.position);
      if (seconds !== null) seconds[i] = found.part.secondOf(found.position);
    }
    return { own, seconds };
  }

  async search(
    asked: readonly EvaluationQuery[],
    how: EvaluationSearch,
    work: LongWork,
  ): Promise<{ found: Best[]; ms: number }> {
    const found: Best[] = [];
    let ms = 0;
    for (const { query } of asked) {
      const start = performance.now();
      found.push(run(this.searchFor(this.held.searched(), query, how)).best);
      ms += performance.now() - start;
      await work.step();
    }
    return { found, ms: ms / Math.max(1, asked.length) };
  }
}
