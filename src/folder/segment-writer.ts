/**
 * Writes a segment; everything that creates segments uses it. Blocks come one after another and go
 * straight to the files of rows and vectors. Hashes of ids and codes wait in buckets and are sorted
 * at the end. Memory holds one block and, up to a limit, the hashes.
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

/** Bytes of a row in a bucket: its hash (8), its number (4), its block (4). */
const ENTRY_BYTES = 16;
/** Most bytes of hashes in memory, where no limit is given. */
const HELD_BYTES = 2 ** 28;

/** Which rows a segment has. */
interface SegmentPlace {
  /** Numbers of the rows are `firstRow` to `nextRow - 1`. */
  readonly firstRow: number;
  readonly nextRow: number;
  /** The exact number of rows that will come; it determines the number of buckets. */
  readonly count: number;
  /** Most bytes of hashes in memory. */
  readonly memory?: number;
}

/**
 * The files of one segment: `open`, `add` for each block, `addCopies` for each block of copies,
 * `end`.
 */
export class SegmentWriter {
  readonly #writer: GenerationWriter;
  readonly #place: SegmentPlace;
  readonly #tables: SegmentTables;
  readonly #rows: OpenFile;
  readonly #vectors: OpenFile | null;
  readonly #spill: Spill;
  /** The number of buckets of ids, and of codes. */
  readonly #ids: number;
  readonly #codes: number;
  readonly #bytesPerCode: number;
  readonly #copies: WrittenCopies | null;
  /** Rows that were added. */
  #count = 0;
  /** Scratch memory for one entry; the spill copies it. */
  readonly #entry = new DataView(new ArrayBuffer(ENTRY_BYTES));

  private constructor(
    writer: GenerationWriter,
    {
      tables,
      layout,
      place,
    }: { tables: SegmentTables; layout: SegmentLayout; place: SegmentPlace },
    [rows, vectors]: readonly [OpenFile, OpenFile | null],
    copies: WrittenCopies | null,
  ) {
    this.#writer = writer;
    this.#place = place;
    this.#tables = tables;
    this.#rows = rows;
    this.#vectors = vectors;
    this.#spill = new Spill(writer, place.memory ?? HELD_BYTES);
    // As many buckets for ids as for codes: both have about one hash for each row.
    this.#codes = bucketCount(place.count);
    this.#ids = this.#codes;
    this.#bytesPerCode = Math.ceil(layout.bits / 8);
    this.#copies = copies;
  }

  /** Begins the files of a segment. `header` is that of an index file, without a report. */
  static async open(
    writer: GenerationWriter,
    { header, layout }: { header: Omit<IndexHeader, 'version'>; layout: SegmentLayout },
    place: SegmentPlace,
  ): Promise<SegmentWriter> {
    const equals = layout.hasFirsts ? 'first' : 'none';
    const described = { ...header, firstRow: place.firstRow, equals };
    const tables = new SegmentTables(described, layout);
    const rows = await writer.create('rows');
    const vectors = tables.vectors && (await writer.create('vectors'));
    const copies = layout.link === null ? null : await copiesFor(writer, described, layout, place);
    return new SegmentWriter(writer, { tables, layout, place }, [rows, vectors], copies);
  }

  /** Writes a block. Blocks come by partition, then row; those without a code last. */
  async add(block: SegmentRows): Promise<void> {
    // The number of the block, which look-ups name.
    const number = this.#tables.count;
    const bytes = this.#tables.add(block);
    await this.#rows.write(bytes.rows);
    await this.#vectors?.write(bytes.vectors);
    const { count, ids, rows, codes, partition } = block;
    for (const row of rows) {
      if (this.#copies !== null) this.#copies.at[row - this.#place.firstRow] = this.#count;
      this.#count++;
    }
    const width = this.#bytesPerCode;
    for (let i = 0; i < count; i++) {
      const idHash = hashOfId(ids?.[i] ?? rows[i]);
      this.#note(bucketOf(idHash, this.#ids), idHash, rows[i], number);
      // A row without a code cannot be found by one.
      if (partition === NO_PARTITION) continue;
      const hash = hashOfCode(codes.subarray(i * width, (i + 1) * width));
      this.#note(this.#ids + bucketOf(hash, this.#codes), hash, rows[i], number);
    }
    await this.#spill.settle();
  }

  /** Writes a block of copies, of rows that were added. Blocks come by partition, then row. */
  async addCopies(block: SegmentRows): Promise<void> {
    const { tables, file, at } = this.#copies as WrittenCopies;
    const links = block.rows.map((row) => at[row - this.#place.firstRow]);
    await file.write(tables.add({ ...block, links }).rows);
    (this.#copies as WrittenCopies).count += block.count;
  }

  /** Adds the hash of a row to a bucket of ids, or of codes. */
  #note(bucket: number, hash: bigint, row: number, block: number): void {
    const entry = this.#entry;
    entry.setBigUint64(0, hash, true);
    entry.setUint32(8, row, true);
    entry.setUint32(12, block, true);
    this.#spill.add(bucket, new Uint8Array(entry.buffer));
  }

  /** Ends the files; returns them as the manifest names them, that of rows first. */
  async end(): Promise<FolderFile[]> {
    const { firstRow, nextRow, count } = this.#place;
    // A sealed file holds its last batch back until its end, so only now all blocks have their
    // places.
    await this.#rows.write(this.#tables.rows.end());
    await this.#vectors?.write(this.#tables.vectors?.end() ?? []);
    const files: FolderFile[] = [{ ...(await this.#rows.end(count)), firstRow, nextRow }];
    if (this.#vectors !== null) files.push(await this.#vectors.end(count));
    files.push(await this.#writer.add('blocks', this.#tables.blocks(), this.#tables.count));
    files.push(...(await this.#lookUps()));
    if (this.#copies !== null) {
      const { tables, file, count } = this.#copies;
      await file.write(tables.rows.end());
      files.push(await file.end(count));
      files.push(await this.#writer.add('places', tables.blocks(), tables.count));
    }
    return files;
  }

  /** Writes the file of hashes, bucket by bucket, and the file that says where the buckets are. */
  async #lookUps(): Promise<FolderFile[]> {
    const hashes = hashesWriter();
    const output = await this.#writer.create('hashes');
    const count = this.#ids + this.#codes;
    const rows = new Uint32Array(count);
    for (let bucket = 0; bucket < count; bucket++) {
      // Buckets are read in the order of their numbers, which is that of the hashes.
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

/** The file of the copies of a segment. */
interface WrittenCopies {
  readonly tables: SegmentTables;
  readonly file: OpenFile;
  /** By row, from the first of the segment on, its position in the file of rows. */
  readonly at: Uint32Array;
  count: number;
}

async function copiesFor(
  writer: GenerationWriter,
  header: ConstructorParameters<typeof SegmentTables>[0],
  layout: SegmentLayout,
  { firstRow, nextRow }: SegmentPlace,
): Promise<WrittenCopies> {
  const tables = new SegmentTables(header, { ...layout, link: 'at' });
  const file = await writer.create('copies');
  return { tables, file, at: new Uint32Array(nextRow - firstRow), count: 0 };
}

/** The rows of a bucket, by hash, then row. */
function sortedEntries(bytes: Uint8Array) {
  const count = bytes.length / ENTRY_BYTES;
  // Two views of the same bytes, as 64-bit and as 32-bit numbers.
  const all = new BigUint64Array(bytes.buffer, bytes.byteOffset, 2 * count);
  const halves = new Uint32Array(bytes.buffer, bytes.byteOffset, 4 * count);
  // Compares 32-bit halves, the high one first, which gives the order of the hashes.
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
