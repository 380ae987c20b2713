/**
 * The one writer of segments: blocks come one after another and go to the files of rows and
 * vectors at once; hashes of ids and codes are sorted into buckets at the end. Memory holds a block
 * and, up to a limit, the hashes.
 */

import { ascending } from '../base/arrays';
import type { FolderFile } from '../stored/manifest';
import type { IndexHeader } from '../table/sealed/index-rows';
import {
  type BucketTable,
  bucketBatch,
  bucketCount,
  bucketOf,
  bucketsToArrow,
  hashesWriter,
  hashOfCode,
  hashOfId,
} from '../table/sealed/look-up-tables';
import {
  NO_PARTITION,
  type SegmentLayout,
  type SegmentRows,
  SegmentTables,
} from '../table/sealed/segment-tables';
import type { GenerationWriter, OpenFile } from './generations';
import { Spill } from './spill';

/** A row in a spilled bucket: its hash, its number, its block. */
const ENTRY_BYTES = 16;
/** Bytes of hashes that memory holds, where no limit is given. */
const HELD_BYTES = 2 ** 28;

interface SegmentPlace {
  /** Numbers of the rows are `firstRow` to `nextRow - 1`. */
  readonly firstRow: number;
  readonly nextRow: number;
  /** How many rows will come. */
  readonly count: number;
  /** Bytes that memory may hold. */
  readonly memory?: number;
}

export class SegmentWriter {
  readonly #writer: GenerationWriter;
  readonly #place: SegmentPlace;
  readonly #tables: SegmentTables;
  readonly #rows: OpenFile;
  readonly #vectors: OpenFile | null;
  readonly #spill: Spill;
  readonly #ids: number;
  readonly #codes: number;
  readonly #bytesPerCode: number;
  readonly #entry = new DataView(new ArrayBuffer(ENTRY_BYTES));

  private constructor(
    writer: GenerationWriter,
    {
      tables,
      layout,
      place,
    }: { tables: SegmentTables; layout: SegmentLayout; place: SegmentPlace },
    [rows, vectors]: readonly [OpenFile, OpenFile | null],
  ) {
    this.#writer = writer;
    this.#place = place;
    this.#tables = tables;
    this.#rows = rows;
    this.#vectors = vectors;
    this.#spill = new Spill(writer, place.memory ?? HELD_BYTES);
    this.#codes = bucketCount(place.count);
    this.#ids = this.#codes;
    this.#bytesPerCode = Math.ceil(layout.bits / 8);
  }

  /** `header` is that of an index file, without a report. */
  static async open(
    writer: GenerationWriter,
    { header, layout }: { header: Omit<IndexHeader, 'version'>; layout: SegmentLayout },
    place: SegmentPlace,
  ): Promise<SegmentWriter> {
    const equals = layout.hasFirsts ? 'first' : 'none';
    const told = { ...header, firstRow: place.firstRow, equals };
    const tables = new SegmentTables(told, layout);
    const rows = await writer.create('rows');
    const vectors = tables.vectors && (await writer.create('vectors'));
    return new SegmentWriter(writer, { tables, layout, place }, [rows, vectors]);
  }

  /** The blocks of a segment come by partition, then row; those without a code last. */
  async add(block: SegmentRows): Promise<void> {
    const number = this.#tables.count;
    const bytes = this.#tables.add(block);
    await this.#rows.write(bytes.rows);
    await this.#vectors?.write(bytes.vectors);
    const { count, ids, rows, codes, partition } = block;
    const width = this.#bytesPerCode;
    for (let i = 0; i < count; i++) {
      const idHash = hashOfId(ids?.[i] ?? rows[i]);
      this.#note(bucketOf(idHash, this.#ids), idHash, rows[i], number);
      if (partition === NO_PARTITION) continue;
      const hash = hashOfCode(codes.subarray(i * width, (i + 1) * width));
      this.#note(this.#ids + bucketOf(hash, this.#codes), hash, rows[i], number);
    }
    await this.#spill.settle();
  }

  #note(bucket: number, hash: bigint, row: number, block: number): void {
    const entry = this.#entry;
    entry.setBigUint64(0, hash, true);
    entry.setUint32(8, row, true);
    entry.setUint32(12, block, true);
    this.#spill.add(bucket, new Uint8Array(entry.buffer));
  }

  /** Ends the files; returns them as the manifest names them. */
  async end(): Promise<FolderFile[]> {
    const { firstRow, nextRow, count } = this.#place;
    await this.#rows.write(this.#tables.rows.end());
    await this.#vectors?.write(this.#tables.vectors?.end() ?? []);
    const files: FolderFile[] = [{ ...(await this.#rows.end(count)), firstRow, nextRow }];
    if (this.#vectors !== null) files.push(await this.#vectors.end(count));
    files.push(await this.#writer.add('blocks', this.#tables.blocks(), this.#tables.count));
    files.push(...(await this.#lookUps()));
    return files;
  }

  async #lookUps(): Promise<FolderFile[]> {
    const hashes = hashesWriter();
    const output = await this.#writer.create('hashes');
    const count = this.#ids + this.#codes;
    const rows = new Uint32Array(count);
    for (let bucket = 0; bucket < count; bucket++) {
      const sorted = sortedEntries(await this.#spill.read(bucket));
      rows[bucket] = sorted.rows.length;
      await output.write(hashes.add(bucketBatch(sorted)));
    }
    await output.write(hashes.end());
    await this.#spill.close();
    const all = rows.reduce((sum, own) => sum + own, 0);
    const table: Pick<BucketTable, 'ids' | 'codes' | 'rows'> = {
      ...{ ids: this.#ids, codes: this.#codes, rows },
    };
    return [
      await output.end(all),
      await this.#writer.add('buckets', bucketsToArrow(table, hashes.bodies), count),
    ];
  }
}

/** The entries of a bucket by hash, then row. */
function sortedEntries(bytes: Uint8Array) {
  const count = bytes.length / ENTRY_BYTES;
  const all = new BigUint64Array(bytes.buffer, bytes.byteOffset, 2 * count);
  const halves = new Uint32Array(bytes.buffer, bytes.byteOffset, 4 * count);
  const order = ascending(count);
  order.sort((a, b) => {
    const byHigh = halves[4 * a + 1] - halves[4 * b + 1] || halves[4 * a] - halves[4 * b];
    return byHigh || halves[4 * a + 2] - halves[4 * b + 2];
  });
  return {
    hashes: BigUint64Array.from(order, (i) => all[2 * i]),
    rows: order.map((i) => halves[4 * i + 2]),
    blocks: order.map((i) => halves[4 * i + 3]),
  };
}
