/**
 * The rows of a stored index as a search reads them: what a search wants is loaded into memory, and
 * then at hand until the next `load`.
 */

import { ascending, runOf } from '../base/arrays';
import { bytesPerCode } from '../codes/codes';
import type { IndexRow } from '../index/answer';
import type { Id } from '../index/ids';
import type { Query } from '../index/query';
import type { Block, CodeRange, Ranges, Searched, SearchedPart, Want } from '../index/searched';
import type { Probes } from '../index/space';
import { CodeMemory } from '../kernels/code-memory';
import { NO_ROW, type RowCodes } from '../kernels/hits';
import type { EntryList } from '../kernels/residuals';
import { idAt, NO_PARTITION } from './blocks';
import { PartitionCache, VectorCache, type VectorPlace } from './cache';
import { type Content, noVectorsOf, type StoredSegment } from './content';
import type { FoundRow } from './id-hashes';
import {
  type BlockName,
  blockGroups,
  bytesOfBlock,
  inGroups,
  type LoadedBlock,
  placeOf,
  positionsIn,
  Reader,
} from './reader';

/** Vectors of a folder that are read together; of a host all that may be needed. */
const VECTORS_AHEAD = 64;
/**
 * Partitions get at least this part of the memory limit; vectors get this part where not all fit.
 */
const PARTITION_SHARE = 0.75;
const VECTOR_SHARE = 0.05;
const MIN_VECTORS = 4096;

/** Where the rows of a segment are, as far as blocks of them were read. */
interface Known {
  /** By row, from the first on, its position plus 1; 0 where it is not known. */
  readonly positions: Uint32Array;
  /** By position the checksum of its vector. */
  readonly checks: Uint32Array;
  /** By block how many entries its sparse vectors have. */
  readonly entries: Map<number, Uint32Array>;
}

export class StoredRows implements Searched, SearchedPart {
  readonly bits: number;
  readonly space: Searched['space'];
  readonly parts: readonly SearchedPart[] = [this];
  readonly vectorsAhead: NonNullable<Searched['vectorsAhead']>;
  readonly entries: EntryList | null;
  readonly partitions: PartitionCache;
  readonly vectors: VectorCache;
  readonly reader: Reader;
  readonly #content: Content;
  /** The blocks of rows with codes, which scans read together; null until the first one. */
  #groups: readonly (readonly BlockName[])[] | null = null;
  readonly #known: readonly Known[];
  /** Of each segment. */
  readonly #firstRows: readonly number[];
  /** Codes of the blocks of a scan, which are looked at once. */
  #scratch: CodeMemory;
  #scratchBlocks: readonly LoadedBlock[] = [];
  #scratchCount = 0;
  /** The blocks of the next group of a scan, while they are read. */
  #ahead: { group: number; blocks: Promise<LoadedBlock[]> } | null = null;
  /** The partitions that were loaded last. */
  #pinned: Iterable<number> = [];
  /** The ids that were read for results. */
  #ids = new Map<number, Id>();

  /** `room` is the memory limit in bytes, without what the content takes. */
  constructor(content: Content, room: number) {
    const { parts, space, segments, place } = content;
    this.#content = content;
    this.bits = parts.bits;
    this.space = space;
    this.reader = new Reader(content);
    this.#firstRows = segments.map(({ firstRow }) => firstRow);
    this.#known = segments.map(({ firstRow, endRow, count }) => ({
      positions: new Uint32Array(endRow - firstRow),
      checks: new Uint32Array(parts.vectors === null ? 0 : count),
      entries: new Map(),
    }));
    const most = partitionRoom(content, room);
    this.partitions = new PartitionCache(this.reader, most);
    this.vectors = new VectorCache(this.reader, Math.max(0, room - this.partitions.bytes));
    const least = place.isFar ? Number.POSITIVE_INFINITY : VECTORS_AHEAD;
    const has = (row: number) => this.vectors.has(row);
    this.vectorsAhead = { least, most: this.vectors.room, has };
    const { residuals } = this.partitions;
    this.entries = residuals && { memory: residuals, rowOf: (place) => this.rowAt(place) };
    this.#scratch = new CodeMemory(bytesPerCode(this.bits));
  }

  get blockCount(): number {
    return this.#scanned.length;
  }

  get #scanned(): readonly (readonly BlockName[])[] {
    this.#groups ??= blockGroups(this.#content.segments, false, ({ segment, block }) => {
      return segment.blocks.partitions[block] !== NO_PARTITION;
    });
    return this.#groups;
  }

  // What a search reads after `load`.

  get codes(): RowCodes {
    return this.partitions.codes as RowCodes;
  }

  addEntries(probes: Probes, to: Ranges): void {
    this.partitions.addEntries(probes, to);
  }

  codesIn(partitions: Uint32Array): CodeRange[] {
    return this.partitions.codesIn(partitions);
  }

  blockAt(): Block {
    return { codes: this.#scratch, first: 0, end: this.#scratchCount, part: null };
  }

  groupsOf(probes: Probes): readonly Probes[] {
    return this.partitions.groupsOf(probes);
  }

  similaritiesInto(rows: Uint32Array, query: Query, out: Float64Array): void {
    out.set(this.vectors.similarities(rows, query));
  }

  /** The id of a row that is in a block, partition or list of ids at hand. */
  idOf(row: number): Id {
    const { ids: kind } = this.#content.manifest.index;
    if (kind === 'row' || kind === null) return row;
    const known = this.#ids.get(row) ?? this.#idInMemory(row);
    if (known === undefined) throw new Error(`the id of row ${row} is not at hand`);
    return kind === 'number' ? Number(known) : known;
  }

  #idInMemory(row: number): Id | undefined {
    const segment = this.#segmentOf(row);
    const position = this.#positionOf(segment, row);
    if (position >= 0 && this.space !== null) {
      const { block } = placeOf(segment, position);
      const id = this.partitions.idIn(segment.blocks.partitions[block], row);
      if (id !== undefined) return id;
    }
    for (const { rows } of this.#scratchBlocks) {
      const place = rows.rows.indexOf(row);
      if (place >= 0) return rows.ids?.at(place) ?? row;
    }
    for (const p of this.space?.parts.hasCopies ? this.#pinned : []) {
      const id = this.partitions.idIn(p, row);
      if (id !== undefined) return id;
    }
    return undefined;
  }

  // Loading.

  /** Makes what searches want at hand, until the next call. All wants are of one kind. */
  async load(wants: readonly Want[], signal: AbortSignal | undefined): Promise<void> {
    const [want] = wants;
    if (want.kind === 'block') return this.#loadGroup(want.block, signal);
    const all = namedIn(wants);
    if (want.kind === 'entries' || want.kind === 'codes') {
      this.#pinned = all;
      await this.partitions.load(all, signal);
      return;
    }
    return want.kind === 'vectors' ? this.#loadVectors(all, signal) : this.#loadIds(all, signal);
  }

  /** Which of several wants can be at hand together with the first: its own index, then others. */
  fitting(wants: readonly Want[]): number[] {
    const [{ kind }] = wants;
    const isOfPartitions = kind === 'entries' || kind === 'codes';
    const costOf = (name: number) => (isOfPartitions ? this.partitions.cellsOf(name) : 1);
    const limits = { block: 1, vectors: this.vectors.room, ids: Number.POSITIVE_INFINITY };
    let left = isOfPartitions ? this.partitions.room : limits[kind];
    const all = new Set<number>();
    return [...wants.keys()].filter((i) => {
      if (wants[i].kind !== kind) return false;
      const more = Array.from(namesOf(wants[i])).filter((name) => !all.has(name));
      const cost = more.reduce((sum, name) => sum + costOf(name), 0);
      if (i > 0 && cost > left) return false;
      left -= cost;
      for (const name of more) all.add(name);
      return true;
    });
  }

  /** Whether a load leaves all partitions where they are. */
  holds(wants: readonly Want[]): boolean {
    return wants[0].kind === 'entries' && this.partitions.holds(namedIn(wants));
  }

  async #loadGroup(group: number, signal: AbortSignal | undefined): Promise<void> {
    const read = (i: number) => this.reader.blocks(this.#scanned[i], { hasCodes: true, signal });
    const ahead = this.#ahead?.group === group ? this.#ahead.blocks : null;
    this.#ahead = null;
    this.#setScratch(await (ahead ?? read(group)));
    if (group + 1 === this.blockCount) return;
    const next = { group: group + 1, blocks: read(group + 1) };
    next.blocks.catch(() => undefined); // reported when it is waited for
    this.#ahead = next;
  }

  #setScratch(blocks: readonly LoadedBlock[]): void {
    this.#scratchBlocks = blocks;
    const count = blocks.reduce((sum, { rows }) => sum + rows.count, 0);
    this.#scratch.reserve(count);
    const { codes, rows, bytesPerCode } = this.#scratch;
    let at = 0;
    for (const block of blocks) {
      this.#note(block);
      codes.set(block.rows.codes, at * bytesPerCode);
      rows.set(block.rows.rows, at);
      at += block.rows.count;
    }
    const { removed } = this.#content;
    if (!removed.isEmpty) {
      for (let i = 0; i < count; i++) if (removed.has(rows[i])) rows[i] = NO_ROW;
    }
    this.#scratchCount = count;
  }

  async #loadVectors(rows: Uint32Array, signal: AbortSignal | undefined): Promise<void> {
    const placesOf = async (missing: readonly number[]) => {
      await this.#locate(missing, signal);
      return missing.map((row) => this.#vectorOf(row));
    };
    await this.vectors.load(rows, placesOf, signal);
  }

  #vectorOf(row: number): VectorPlace {
    const segment = this.#segmentOf(row);
    const { checks, entries } = this.#known[segment.number];
    const position = this.#positionOf(segment, row);
    const { block, place } = placeOf(segment, position);
    const check = checks[position];
    // Without a spread, which makes an object that is slow to read.
    return { segment, block, place, check, entries: entries.get(block) ?? null };
  }

  async #loadIds(rows: Uint32Array, signal: AbortSignal | undefined): Promise<void> {
    this.#ids = new Map();
    const { ids: kind } = this.#content.manifest.index;
    if (kind === 'row' || kind === null) return;
    const missing = new Set<number>();
    for (const row of rows) {
      const id = this.#idInMemory(row);
      if (id === undefined) missing.add(row);
      else this.#ids.set(row, id);
    }
    await this.#locate(missing, signal);
    const wanted = new Map<string, BlockName>();
    for (const row of missing) {
      const segment = this.#segmentOf(row);
      const { block } = placeOf(segment, this.#positionOf(segment, row));
      wanted.set(`${segment.number} ${block}`, { segment, block });
    }
    const groups = inGroups(wanted.values(), (name) => bytesOfBlock(name, false));
    await this.reader.each(groups, { signal }, (blocks) => {
      for (const { rows: own } of blocks) {
        for (const [place, row] of own.rows.entries()) {
          if (missing.has(row)) this.#ids.set(row, own.ids?.at(place) ?? row);
        }
      }
    });
  }

  /**
   * Finds the positions of rows whose blocks were not read yet: reads all block heads of their
   * segments.
   */
  async #locate(rows: Iterable<number>, signal: AbortSignal | undefined): Promise<void> {
    const unknown = new Set<StoredSegment>();
    for (const row of rows) {
      const segment = this.#segmentOf(row);
      const position = this.#positionOf(segment, row);
      const { entries } = this.#known[segment.number];
      const needsEntries = this.#content.parts.vectors?.kind === 'sparse';
      const isKnown =
        position >= 0 && (!needsEntries || entries.has(placeOf(segment, position).block));
      if (!isKnown) unknown.add(segment);
    }
    await this.eachBlock([...unknown], undefined, signal);
  }

  /** Notes where the rows of a block are. */
  #note(loaded: LoadedBlock): void {
    const { segment, block, rows: own } = loaded;
    const { rows, checks, entries } = own;
    const known = this.#known[segment.number];
    const positions = positionsIn(loaded);
    for (let i = 0; i < rows.length; i++) {
      known.positions[rows[i] - segment.firstRow] = positions[i] + 1;
      if (checks !== null) known.checks[positions[i]] = checks[i];
    }
    if (entries !== null && !known.entries.has(block)) known.entries.set(block, entries.slice());
  }

  /** The row at a place of the partitions in memory; notes where its vector is, if not here. */
  rowAt(place: number): number {
    const row = this.partitions.rowAt(place);
    if (this.vectors.has(row)) return row;
    const located = this.partitions.at(place);
    const { segment, block, position, check } = located;
    const known = this.#known[segment.number];
    known.positions[row - segment.firstRow] = position + 1;
    known.checks[position] = check;
    if (this.vectors.isSparse && !known.entries.has(block)) {
      const { entries } = this.partitions.columnsIn(located);
      if (entries !== null) known.entries.set(block, entries.slice());
    }
    return row;
  }

  #segmentOf(row: number): StoredSegment {
    return this.#content.segments[Math.max(0, runOf(this.#firstRows, row))];
  }

  #positionOf({ number, firstRow }: StoredSegment, row: number): number {
    return this.#known[number].positions[row - firstRow] - 1;
  }

  /** What is stored of a row that was found. */
  async read(found: FoundRow, signal?: AbortSignal): Promise<IndexRow> {
    const { place, row } = found;
    const how = { hasCodes: true, hasVectors: true, signal } as const;
    const [{ rows: own, vectors }] = await this.reader.blocks([found], how);
    const id = idAt(own.ids, place, row, this.#content.manifest.index.ids === 'number');
    if (own.partition === NO_PARTITION) return { row, id, code: null, vector: null };
    const width = bytesPerCode(this.bits);
    const code = own.codes.slice(place * width, (place + 1) * width);
    const held = noVectorsOf(this.#content);
    held?.skip(own.count);
    held?.restore(vectors, ascending(own.count));
    return { row, id, code, vector: held?.at(place) ?? null };
  }

  /**
   * The vector of a row, by its position among those in memory; valid until the next `load`. The
   * scale of int8 is not known.
   */
  async vectorOf(row: number, signal?: AbortSignal) {
    await this.#loadVectors(Uint32Array.of(row), signal);
    return this.vectors.at(row);
  }

  /** Reads the heads of all blocks of some segments, and notes where their rows are. */
  async eachBlock(
    segments: readonly StoredSegment[],
    take: (block: LoadedBlock) => void = () => undefined,
    signal?: AbortSignal,
  ): Promise<void> {
    await this.reader.each(blockGroups(segments), { signal }, (group) => {
      for (const block of group) {
        this.#note(block);
        take(block);
      }
    });
  }
}

/** The block, partitions or rows of a want. */
function namesOf(want: Want): Uint32Array {
  if ('block' in want) return Uint32Array.of(want.block);
  return 'rows' in want ? want.rows : want.partitions;
}

/** Those of wants of one kind, each once. */
function namedIn(wants: readonly Want[]): Uint32Array {
  if (wants.length === 1) return namesOf(wants[0]);
  const all = new Set<number>();
  for (const want of wants) for (const name of namesOf(want)) all.add(name);
  return Uint32Array.from(all);
}

/**
 * Bytes of the limit for partitions: what the vectors leave, if all vectors fit; else what their
 * part leaves.
 */
function partitionRoom({ manifest, segments }: Content, room: number): number {
  const vectorBytes = segments.reduce((sum, { files }) => sum + (files.vectors?.bytes ?? 0), 0);
  const all = 1.25 * vectorBytes + 64 * manifest.rows;
  const some = (all / Math.max(1, manifest.rows)) * MIN_VECTORS;
  return Math.max(
    PARTITION_SHARE * room,
    room - Math.min(all, Math.max(VECTOR_SHARE * room, some)),
  );
}
