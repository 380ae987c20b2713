/**
 * The memory of a comparison of all codes with all: codes padded to whole 64-bit words in the order
 * in which they are compared, a limit for each, and room for what the kernels make of a block of
 * queries and a tile of rows. In a linear memory of its own, where kernels read everything in
 * place.
 */

import { Arena } from '../memory';

/** Rows of a tile: one lane of a plane each. */
export const TILE_ROWS = 128;
/** Queries between two looks at the limits. */
export const STEP_QUERIES = 128;
/** 32-bit numbers of a hit: query, row and distance. */
export const TILE_HIT = 3;
/** Bits of a group that shares a table of 128 entries. */
export const GROUP_BITS = 7;
const TABLE_BYTES = 6144;
/** Groups are added four at a time; so many fours have their tables in the cache together. */
const MOST_FOURS = 9;
/** Enough queries to make up for the tables; fewer of wide codes, for whose choices room is. */
const MOST_QUERIES = 4096;
const CHOICES_BYTES = 2 ** 19;
/** Planes of a sum that the kernels hold in registers. */
const LEAST_PLANES = 6;
/** Room for what slices and tables are made of. */
const SPARE_BYTES = 1152;
/** Bytes of a line of the cache, with which each part begins. */
const LINE = 64;

export class TileMemory {
  readonly bits: number;
  /** Bytes of a code, with its padding. */
  readonly stride: number;
  /** Queries of a block, at most: a multiple of STEP_QUERIES. */
  readonly queries: number;
  /** Groups of bits, one more than a multiple of four; at most `groupsAtOnce` have tables. */
  readonly groups: number;
  readonly groupsAtOnce: number;
  readonly codes: Uint8Array;
  /** Of interest to a code are distances below. */
  readonly limits: Uint32Array;
  readonly hits: Uint32Array;
  readonly choices: Uint8Array;
  readonly slices: Uint8Array;
  readonly spare: Uint8Array;
  readonly tables: Uint8Array;
  /** Of one query; of all in a block where tables come in parts. */
  readonly sums: Uint8Array;
  readonly sumBytes: number;

  constructor(count: number, bits: number) {
    this.bits = bits;
    this.stride = 8 * Math.ceil(bits / 64);
    const fours = Math.ceil((Math.ceil(bits / GROUP_BITS) - 1) / 4);
    this.groups = 1 + 4 * fours;
    this.groupsAtOnce = 1 + 4 * Math.min(fours, MOST_FOURS);
    const turns = Math.floor(CHOICES_BYTES / (2 * this.groups * STEP_QUERIES));
    this.queries = Math.max(STEP_QUERIES, Math.min(MOST_QUERIES, turns * STEP_QUERIES));
    const planes = Math.max(
      LEAST_PLANES,
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
    const arena = new Arena(lengths.reduce((sum, length) => sum + length + LINE, LINE));
    const { buffer, byteOffset } = arena.bytes;
    let at = byteOffset;
    const next = () => {
      at = Math.ceil(at / LINE) * LINE;
      const length = lengths.shift() as number;
      const view = new Uint8Array(buffer, at, length);
      at += length;
      return view;
    };
    const words = (view: Uint8Array) => new Uint32Array(buffer, view.byteOffset, view.length / 4);
    this.codes = next();
    this.limits = words(next());
    this.hits = words(next());
    this.choices = next();
    this.slices = next();
    this.spare = next();
    this.tables = next();
    this.sums = next();
  }
}
