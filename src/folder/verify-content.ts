/**
 * Checks what the segments of a folder hold, block by block. Memory holds some MiB of rows, a bit
 * for each row, and the removed rows. Equal ids and codes are found through the files of hashes,
 * which are sorted; an order-independent sum shows that these are the hashes of the rows.
 */

import { asFormatError, FormatError } from '../base/format-error';
import { lengthOf } from '../base/length';
import { residualBytesOf } from '../index/partitions/residual-codes';
import { checksum } from '../kernels/xxhash';
import { BlockReader } from '../stored/block-reader';
import type { StoredContent, StoredSegment } from '../stored/content';
import { LookUps } from '../stored/look-ups';
import { RowSet } from '../stored/row-set';
import { bucketOf, bytesOfId, hashOfCode, hashOfId } from '../table/sealed/look-up-tables';
import { NO_PARTITION, type SegmentRows, vectorChecks } from '../table/sealed/segment-tables';
import { SegmentCursor } from './block-cursor';
import { equalHashes, type HashedRow } from './hash-order';
import { RowSum } from './row-sum';

/** Call `segment` for each segment in order, then `whole`. The first problem throws. */
export class ContentCheck {
  readonly #content: StoredContent;
  readonly #reader: BlockReader;
  readonly #lookUps: LookUps;
  /** Called with the bytes of each part that was read; throws where the caller stops the work. */
  readonly #passed: (bytes: number) => void;
  readonly #seen = new RowSet();
  /** For each removed row that was not the first with its code: the first row that files name. */
  readonly #firstOfRemoved = new Map<number, number>();
  /** For each live row that others name as the first with their code: the hash of their code. */
  readonly #namedFirst = new Map<number, bigint>();
  /** How many live rows there are. */
  #rows = 0;

  constructor(content: StoredContent, passed: (bytes: number) => void) {
    this.#content = content;
    this.#reader = new BlockReader(content);
    this.#lookUps = new LookUps(content, this.#reader);
    this.#passed = passed;
  }

  /**
   * Checks every row of a segment, and that its file of hashes has exactly their hashes. Segments
   * must come in their order.
   */
  async segment(segment: StoredSegment): Promise<void> {
    const { table, rows: file, vectors } = segment;
    const path = this.#reader.pathOf(file);
    asFormatError(path, () => this.#checkColumns(segment));
    const sums: Sums = { ids: new RowSum(), codes: new RowSum(), copies: new CopySum() };
    const cursor = new SegmentCursor(this.#reader, segment, null);
    // Bytes outside of blocks, reported after them.
    let heads = file.bytes + (vectors?.bytes ?? 0);
    for (let block = 0; block < table.count; block++) {
      // The cursor compares the checksums of the block and of its vectors.
      const rows = await cursor.next();
      asFormatError(path, () => this.#block(rows, block, sums));
      await this.#checkParts(segment, block, rows);
      const bytes = table.bytes[block] + table.vectorsBytes[block];
      this.#passed(bytes);
      heads -= bytes;
    }
    this.#passed(heads);
    for (const of of ['ids', 'codes'] as const) await this.#hashes(segment, of, sums[of]);
    this.#passed(segment.hashes.bytes);
    const copies = this.#content.copies.find(({ home }) => home === segment);
    if (copies !== undefined) await this.#copies(copies, sums.copies);
  }

  /** Checks that copies are those of the rows of their segment, in partitions that these name. */
  async #copies(copies: StoredSegment, wanted: CopySum): Promise<void> {
    const path = this.#reader.pathOf(copies.rows);
    asFormatError(path, () => this.#checkColumns(copies));
    const found = new CopySum();
    const cursor = new SegmentCursor(this.#reader, copies, null);
    for (let block = 0; block < copies.table.count; block++) {
      const rows = await cursor.next();
      const { count, codes, partition, links } = rows;
      const width = codes.length / Math.max(1, count);
      for (let i = 0; i < count; i++) {
        const hash = hashOfCode(codes.subarray(i * width, (i + 1) * width));
        found.add(hash, rows.rows[i], { second: partition, at: links?.[i] ?? 0 });
      }
      await this.#checkParts(copies, block, rows);
      this.#passed(copies.table.bytes[block]);
    }
    if (found.equals(wanted)) return;
    throw new FormatError('damaged: its copies are not those of the rows', path);
  }

  /**
   * Checks the checksums of the two parts of a block, which readers of web hosts read separately.
   */
  async #checkParts(segment: StoredSegment, block: number, rows: SegmentRows): Promise<void> {
    if (rows.partition === NO_PARTITION) return;
    // Reading the head compares its checksum.
    await this.#reader.blocks([{ segment, block }], undefined, true);
    if (checksum(rows.codes) === segment.table.codeChecksums[block]) return;
    const path = this.#reader.pathOf(segment.rows);
    throw new FormatError(`damaged: the codes of block ${block} fail their checksum`, path);
  }

  /** Checks that the columns of a segment are those of the options of the index. */
  #checkColumns({ table: { layout }, rows }: StoredSegment): void {
    const { header, parts } = this.#content;
    const bytes = residualBytesOf(parts);
    if (layout.residualBytes !== 0 && layout.residualBytes !== bytes) {
      throw new Error(`residual codes of ${layout.residualBytes} bytes, expected ${bytes}`);
    }
    const dimensions = parts.hasher.dimensions ?? 0;
    if (layout.dimensions !== dimensions) {
      throw new Error(`vectors of ${layout.dimensions} dimensions, expected ${dimensions}`);
    }
    const types = {
      ...{ row: [null], number: ['Int32', 'Uint32', 'Int64'], string: ['Utf8'] },
      bigint: ['Int64', 'Uint64'],
    } as const;
    const known: readonly (string | null)[] = header.ids === null ? [null] : types[header.ids];
    if (rows.rows === 0 || known.includes(layout.id)) return;
    throw new Error(`ids are of kind ${header.ids}, the column is not`);
  }

  /** Checks the rows of a block, and adds them to the sums. */
  #block(all: SegmentRows, block: number, sums: Sums): void {
    const { count, rows, ids, codes, firsts, partition, links } = all;
    const width = codes.length / Math.max(1, count);
    for (let i = 0; i < count; i++) {
      const row = rows[i];
      // `#seen` covers all segments, so that no row number occurs twice in the folder.
      if (this.#seen.has(row)) throw new Error(`row ${row} is there twice`);
      this.#seen.add(row);
      const isLive = !this.#content.removed.has(row);
      if (isLive) this.#rows++;
      sums.ids.add(hashOfId(ids?.[i] ?? row), row, block);
      const given = firsts?.[i] ?? row;
      if (given > row) throw new Error(`row ${row}: its code cannot be that of row ${given}`);
      if (!isLive && given !== row) this.#firstOfRemoved.set(row, given);
      if (partition === NO_PARTITION) continue;
      const hash = hashOfCode(codes.subarray(i * width, (i + 1) * width));
      sums.codes.add(hash, row, block);
      if (links) sums.copies.add(hash, row, { second: links[i], at: sums.copies.rows + i });
      if (isLive && given !== row) this.#nameFirst(row, given, hash);
    }
    sums.copies.rows += count;
    checkVectors(all, block);
  }

  /**
   * Notes that `row` names `given` as the first row with its code; `whole` checks that their codes
   * are equal. A name says nothing once its row is in no file: a segment that was written again
   * dropped it with the removed rows, while rows of later segments still name it.
   */
  #nameFirst(row: number, given: number, hash: bigint): void {
    let first = given;
    for (let earlier: number | undefined = given; earlier !== undefined; ) {
      first = earlier;
      earlier = this.#firstOfRemoved.get(first);
    }
    if (!this.#seen.has(first) || this.#content.removed.has(first)) return;
    const known = this.#namedFirst.get(first) ?? hash;
    if (known !== hash) throw wrongFirst(row, first);
    this.#namedFirst.set(first, hash);
  }

  /**
   * Checks that the hashes of a segment ascend and that they are those of its rows, whose sum is
   * `wanted`.
   */
  async #hashes(segment: StoredSegment, of: 'ids' | 'codes', wanted: RowSum): Promise<void> {
    const found = new RowSum();
    let isInOrder = true;
    for await (const { rows: entries, bucket, count } of this.#lookUps.passing(segment, of)) {
      const { hashes, rows, blocks } = entries;
      for (let i = 0; i < hashes.length; i++) {
        found.add(hashes[i], rows[i], blocks[i]);
        // Within a hash rows ascend, so that look-ups find them in order.
        const isHigher =
          i === 0 ||
          hashes[i] > hashes[i - 1] ||
          (hashes[i] === hashes[i - 1] && rows[i] > rows[i - 1]);
        isInOrder &&= isHigher && bucketOf(hashes[i], count) === bucket;
      }
      this.#passed(0);
    }
    if (isInOrder && found.equals(wanted)) return;
    asFormatError(this.#reader.pathOf(segment.hashes), () => {
      throw new Error(`its hashes of ${of} are not those of the rows, or out of order`);
    });
  }

  /**
   * After all segments: checks the number of live rows, that no two have one id, and that rows with
   * equal codes are marked as such.
   */
  async whole(): Promise<void> {
    const { header, manifest } = this.#content;
    if (this.#rows !== manifest.rows) throw new Error(`${this.#rows} rows were found`);
    if (header.ids !== 'row') await this.#ids();
    let distinct = 0;
    for await (const group of this.#equal('codes')) {
      distinct++;
      for (const { hash, row } of group) {
        if ((this.#namedFirst.get(row) ?? hash) !== hash) throw wrongFirst(row, row);
      }
    }
    const said = header.distinct ?? distinct;
    if (said === distinct) return;
    throw new Error(`${distinct} codes differ, the manifest says that ${said} do`);
  }

  /** Rows with equal hashes may have different ids: compares the ids themselves. */
  async #ids(): Promise<void> {
    for await (const group of this.#equal('ids')) {
      const ids: Uint8Array[] = [];
      for (const { row, name } of group.length > 1 ? group : []) {
        const [{ rows: block }] = await this.#reader.blocks([name]);
        const id = bytesOfId(block.ids?.at(block.rows.indexOf(row)) ?? row);
        if (ids.some((other) => Buffer.from(other).equals(id))) {
          throw new Error(`row ${row}: its id is there twice`);
        }
        ids.push(id);
      }
    }
  }

  /** The live rows of each hash, ascending. */
  #equal(of: 'ids' | 'codes'): AsyncGenerator<HashedRow[]> {
    return equalHashes(this.#content, this.#lookUps, { of, passed: () => this.#passed(0) });
  }
}

function wrongFirst(row: number, first: number): Error {
  return new Error(`row ${row}: its code is not that of row ${first}, which "first" names`);
}

/** What the rows of a segment sum up to, which other files must say too. */
interface Sums {
  readonly ids: RowSum;
  readonly codes: RowSum;
  readonly copies: CopySum;
}

/** An order-independent sum over rows, their codes, second partitions and positions. */
class CopySum {
  readonly #seconds = new RowSum();
  readonly #positions = new RowSum();
  /** Rows that came before the present block. */
  rows = 0;

  add(hash: bigint, row: number, { second, at }: { second: number; at: number }): void {
    this.#seconds.add(hash, row, second);
    this.#positions.add(hash, row, at);
  }

  equals(other: CopySum): boolean {
    return this.#seconds.equals(other.#seconds) && this.#positions.equals(other.#positions);
  }
}

/** Checks that vectors match the checksums in their rows, and that their values are finite. */
function checkVectors(given: SegmentRows, block: number): void {
  const { count, rows, vectors, scales, checks } = given;
  const wanted = vectorChecks(given, count);
  if (wanted !== null && !wanted.every((check, place) => check === checks?.[place])) {
    throw new Error(`the vectors of block ${block} are not those of its rows`);
  }
  const width = (vectors?.length ?? 0) / Math.max(1, count);
  for (let i = 0; vectors !== null && i < count; i++) {
    const isSound =
      scales === null
        ? Number.isFinite(lengthOf(vectors, i * width, (i + 1) * width))
        : Number.isFinite(scales[i]);
    if (!isSound) throw new Error(`row ${rows[i]}: its vector or scale is not finite`);
  }
}
