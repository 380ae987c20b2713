/**
 * The memory of a comparison of all codes with all: codes padded to whole 64-bit words in the order
 * of comparison, a limit for each, and the space in which the kernel of tables.assembly.ts prepares
 * a block of queries and a tile of rows. All is in one linear memory, where kernels read it in
 * place and threads share the codes and limits.
 */

import { Arena } from '../memory';

/** Rows of a tile: each is one bit of a register. */
export const TILE_ROWS = 128;
/** Queries of a step; callers may change limits between steps. */
export const STEP_QUERIES = 128;
/** 32-bit numbers of a hit: query, row and distance. */
export const TILE_HIT = 3;
/** Bits of a group that shares a table of 128 entries. */
export const GROUP_BITS = 7;
/** Bytes of a table: 128 entries of three registers. */
const TABLE_BYTES = 6144;
/** Groups are added four at a time; the tables of this many fours fit the cache together. */
const MAX_FOURS = 9;
/** Queries of a block: enough to repay making the tables, fewer where choices take more space. */
const MAX_QUERIES = 4096;
const MAX_CHOICES_BYTES = 2 ** 19;
/** Binary digits that a sum has at least: as many as the kernel holds in registers. */
const MIN_PLANES = 6;
/** Scratch space of the functions that make slices and tables. */
const SPARE_BYTES = 1152;
/** Bytes of a cache line: each area begins with one. */
const LINE = 64;

export class TileMemory {
  readonly bits: number;
  /** Bytes of a code, with its padding. */
  readonly stride: number;
  /** Largest number of queries of a block, a multiple of STEP_QUERIES. */
  readonly queries: number;
  /** Groups of bits: one, from which sums start, and a multiple of four more. */
  readonly groups: number;
  /** Groups whose tables have memory at the same time. */
  readonly groupsAtOnce: number;
  /** Codes of `stride` bytes, which callers write. */
  readonly codes: Uint8Array;
  /** For each code the limit below which distances are hits. */
  readonly limits: Uint32Array;
  /** Triples (query, row, distance): all pairs of a step and a tile fit. */
  readonly hits: Uint32Array;
  /** For each query of the block the offset of its entry in each group's table, 16 bits each. */
  readonly choices: Uint8Array;
  /** For each bit a register with this bit of each code of the tile. */
  readonly slices: Uint8Array;
  readonly spare: Uint8Array;
  readonly tables: Uint8Array;
  /** Sums of one query, or of all queries of a block where tables are made in parts. */
  readonly sums: Uint8Array;
  /** Bytes of the sums of one query: a register for each binary digit. */
  readonly sumBytes: number;

  /** Bytes of the space that one thread needs, without codes and limits. */
  readonly workBytes: number;

  /**
   * Allocates memory for `count` codes of `bits` bits, or with `shared` uses the codes and limits
   * of another thread, and the space at address `at` of their memory as this thread's own.
   */
  constructor(
    count: number,
    bits: number,
    shared?: { readonly codes: Uint8Array; readonly limits: Uint32Array; readonly at: number },
  ) {
    this.bits = bits;
    this.stride = 8 * Math.ceil(bits / 64);
    const fours = Math.ceil((Math.ceil(bits / GROUP_BITS) - 1) / 4);
    this.groups = 1 + 4 * fours;
    this.groupsAtOnce = 1 + 4 * Math.min(fours, MAX_FOURS);
    const turns = Math.floor(MAX_CHOICES_BYTES / (2 * this.groups * STEP_QUERIES));
    this.queries = Math.max(STEP_QUERIES, Math.min(MAX_QUERIES, turns * STEP_QUERIES));
    const planes = Math.max(
      MIN_PLANES,
      32 - Math.clz32(Math.max(GROUP_BITS * this.groups, bits + 1)),
    );
    this.sumBytes = 16 * planes;
    const waiting = this.groups > this.groupsAtOnce ? this.queries : 1;
    const sliceBits = Math.max(8 * this.stride, GROUP_BITS * this.groups);
    const lengths = [
      (Math.ceil(count / TILE_ROWS) * TILE_ROWS + 2) * this.stride, // tiles are read to their end
      4 * count,
      4 * TILE_HIT * STEP_QUERIES * TILE_ROWS,
      2 * this.groups * this.queries,
      16 * sliceBits,
      SPARE_BYTES,
      TABLE_BYTES * this.groupsAtOnce,
      this.sumBytes * waiting,
    ];
    const bytesOf = (some: number[]) => some.reduce((sum, length) => sum + length + LINE, LINE);
    this.workBytes = bytesOf(lengths.slice(2));
    const { buffer, byteOffset } = shared?.codes ?? new Arena(bytesOf(lengths), true).bytes;
    let at = shared?.at ?? byteOffset;
    const next = () => {
      at = Math.ceil(at / LINE) * LINE;
      const length = lengths.shift() as number;
      const view = new Uint8Array(buffer, at, length);
      at += length;
      return view;
    };
    const words = (view: Uint8Array) => new Uint32Array(buffer, view.byteOffset, view.length / 4);
    if (shared !== undefined) lengths.splice(0, 2);
    this.codes = shared?.codes ?? next();
    this.limits = shared?.limits ?? words(next());
    this.hits = words(next());
    this.choices = next();
    this.slices = next();
    this.spare = next();
    this.tables = next();
    this.sums = next();
  }
}
