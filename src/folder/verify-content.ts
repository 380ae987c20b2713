/**
 * What the segments of a folder hold, read block by block: memory holds some MiB of rows, a bit for
 * each row, and what is removed. Which ids and codes are equal is found by their hashes, which the
 * files of hashes have in order; that these are the hashes of the rows is checked by a sum.
 */

import { asFormatError, FormatError } from '../base/format-error';
import { lengthOf } from '../base/length';
import { residualBytesOf } from '../index/partitions/residual-codes';
import { checksum } from '../kernels/kernels';
import { BlockReader } from '../stored/block-reader';
import type { StoredContent, StoredSegment } from '../stored/content';
import { LookUps } from '../stored/look-ups';
import type { FolderFile } from '../stored/manifest';
import { RowSet } from '../stored/row-set';
import { bucketOf, bytesOfId, hashOfCode, hashOfId } from '../table/sealed/look-up-tables';
import { NO_PARTITION, type SegmentRows, vectorChecks } from '../table/sealed/segment-tables';
import { SegmentCursor } from './block-cursor';
import { equalHashes, type HashedRow } from './hash-order';
import { RowSum } from './row-sum';

export class ContentCheck {
  readonly #content: StoredContent;
  readonly #reader: BlockReader;
  readonly #lookUps: LookUps;
  /** Called with the bytes of each part that was read; throws where the caller stops the work. */
  readonly #passed: (bytes: number) => void;
  readonly #seen = new RowSet();
  /** By a removed row that was not the first of its code, the first. */
  readonly #firstOfRemoved = new Map<number, number>();
  /** By a first row that is not there, the row that took over. */
  readonly #takenOver = new Map<number, number>();
  /** Of rows that are there: hash of the code, row, and the first row of the code. */
  readonly #firsts = new RowSum();
  #rows = 0;
  #distinct = 0;

  constructor(content: StoredContent, passed: (bytes: number) => void) {
    this.#content = content;
    this.#reader = new BlockReader(content);
    this.#lookUps = new LookUps(content, this.#reader);
    this.#passed = passed;
  }

  /** Every row of a segment, and that its hashes are theirs; segments come in their order. */
  async segment(segment: StoredSegment): Promise<void> {
    const { table, rows: file, vectors } = segment;
    const path = this.#reader.pathOf(file);
    asFormatError(path, () => this.#checkColumns(segment));
    const sums = { ids: new RowSum(), codes: new RowSum() };
    const cursor = new SegmentCursor(this.#reader, segment, null);
    let heads = file.bytes + (vectors?.bytes ?? 0);
    for (let block = 0; block < table.count; block++) {
      const rows = await cursor.next();
      asFormatError(path, () => this.#block(rows, block, sums));
      await this.#checkParts(segment, block, rows);
      const bytes = table.bytes[block] + table.vectorsBytes[block];
      this.#passed(bytes);
      heads -= bytes;
    }
    this.#passed(heads);
    for (const of of ['ids', 'codes'] as const) await this.#hashes(segment, of, sums[of]);
    this.#passed(segment.hashes?.bytes ?? 0);
  }

  /** That the checksums of parts of a block are those of these parts. */
  async #checkParts(segment: StoredSegment, block: number, rows: SegmentRows): Promise<void> {
    const { headChecksums, codeChecksums } = segment.table;
    if (headChecksums === null || rows.partition === NO_PARTITION) return;
    await this.#reader.blocks([{ segment, block }], undefined, true);
    if (checksum(rows.codes) === codeChecksums?.[block]) return;
    const path = this.#reader.pathOf(segment.rows);
    throw new FormatError(`damaged: the codes of block ${block} fail their checksum`, path);
  }

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

  #block(given: SegmentRows, block: number, sums: { ids: RowSum; codes: RowSum }): void {
    const { count, rows, ids, codes, firsts, partition } = given;
    const width = codes.length / Math.max(1, count);
    for (let i = 0; i < count; i++) {
      const row = rows[i];
      if (this.#seen.has(row)) throw new Error(`row ${row} is there twice`);
      this.#seen.add(row);
      const isLive = !this.#content.removed.has(row);
      if (isLive) this.#rows++;
      sums.ids.add(hashOfId(ids?.[i] ?? row), row, block);
      const first = this.#firstOf(row, firsts?.[i] ?? row, isLive);
      if (partition === NO_PARTITION) continue;
      const hash = hashOfCode(codes.subarray(i * width, (i + 1) * width));
      sums.codes.add(hash, row, block);
      if (!isLive) continue;
      this.#firsts.add(hash, row, first);
      if (first === row) this.#distinct++;
    }
    checkVectors(given, block);
  }

  /** The first row with a code of those that are there. */
  #firstOf(row: number, given: number, isLive: boolean): number {
    if (given > row) throw new Error(`row ${row}: its code cannot be that of row ${given}`);
    if (given === row) return row;
    if (!isLive) {
      this.#firstOfRemoved.set(row, given);
      return row;
    }
    let first = given;
    for (;;) {
      const earlier = this.#firstOfRemoved.get(first);
      if (earlier === undefined) break;
      first = earlier;
    }
    if (this.#seen.has(first) && !this.#content.removed.has(first)) return first;
    if (!this.#takenOver.has(first)) this.#takenOver.set(first, row);
    return this.#takenOver.get(first) as number;
  }

  /** That the hashes of a segment ascend, and are those of its rows. */
  async #hashes(segment: StoredSegment, of: 'ids' | 'codes', wanted: RowSum): Promise<void> {
    const found = new RowSum();
    let isInOrder = true;
    let buckets = 0;
    for await (const { rows: entries, bucket, count } of this.#lookUps.passing(segment, of)) {
      const { hashes, rows, blocks } = entries;
      buckets = count;
      for (let i = 0; i < hashes.length; i++) {
        found.add(hashes[i], rows[i], blocks[i]);
        const isHigher =
          i === 0 ||
          hashes[i] > hashes[i - 1] ||
          (hashes[i] === hashes[i - 1] && rows[i] > rows[i - 1]);
        isInOrder &&= isHigher && bucketOf(hashes[i], count) === bucket;
      }
      this.#passed(0);
    }
    // Early folders have no hashes of rows that are their own ids.
    if (buckets === 0 || (isInOrder && found.equals(wanted))) return;
    asFormatError(this.#reader.pathOf(segment.hashes as FolderFile), () => {
      throw new Error(`its hashes of ${of} are not those of the rows, or out of order`);
    });
  }

  /** After all segments: as many rows as wanted, no two with one id, and equal codes marked so. */
  async whole(): Promise<void> {
    const { header, manifest } = this.#content;
    if (this.#rows !== manifest.rows) throw new Error(`${this.#rows} rows were found`);
    if (header.ids !== 'row') await this.#ids();
    const firsts = new RowSum();
    let distinct = 0;
    for await (const group of this.#equal('codes')) {
      distinct++;
      for (const { hash, row } of group) firsts.add(hash, row, group[0].row);
    }
    const told = header.distinct ?? this.#distinct;
    for (const said of [this.#distinct, told]) {
      if (said !== distinct) {
        throw new Error(`${distinct} codes differ, the files say that ${said} do`);
      }
    }
    if (firsts.equals(this.#firsts)) return;
    throw new Error('rows with equal codes are not those that the column "first" names');
  }

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

  /** Rows that are there, those of one hash together, ascending. */
  #equal(of: 'ids' | 'codes'): AsyncGenerator<HashedRow[]> {
    return equalHashes(this.#content, this.#lookUps, { of, passed: () => this.#passed(0) });
  }
}

/** Vectors are those of their rows, and finite. */
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
