// The methods of the classic articles to all 64-bit codes within distance 3, as one writes them in
// JavaScript. Each is { bytes, search }: the memory besides the codes, and a query's hits.

import { scan } from '../../dist/index.js';
import { Bands, runSteps, WithinAny } from './bands.mjs';

export const RADIUS = 3;

/** Our scan of all codes. */
export function linearScan(codes) {
  const search = (query) => {
    const { rows, distances } = scan(codes, query, { maxDistance: RADIUS });
    return Array.from(rows, (row, i) => ({ row, distance: distances[i] }));
  };
  return { bytes: 0, search };
}

/** Our tables; `found` describes the last search. */
export function tables(codes, blocks) {
  const options = { bits: 64, count: codes.count, blocks };
  const bands = runSteps(
    Bands.build({ memories: [{ codes: codes.bytes }], shift: 31 }, options),
    {},
  );
  const entry = { bytes: bands.bytes, found: undefined };
  entry.search = (query) => {
    const collector = new WithinAny(RADIUS);
    entry.found = bands.search(query, collector);
    return collector.result();
  };
  return entry;
}

/** Every code within distance 3 of the query, 43,745 of them, looked up in a hash set of all. */
export function enumeration(codes) {
  const words = new Int32Array(codes.bytes.buffer, codes.bytes.byteOffset, 2 * codes.count);
  const mask = 2 ** Math.ceil(Math.log2(1.5 * codes.count)) - 1;
  const table = new Uint32Array(mask + 1); // row + 1, or 0; linear probing
  for (let row = 0; row < codes.count; row++) {
    let at = mix(words[2 * row], words[2 * row + 1]) & mask;
    while (table[at] !== 0) at = (at + 1) & mask;
    table[at] = row + 1;
  }
  const flips = [[0, 0, 0]];
  for (let a = 0; a < 64; a++) {
    flips.push([1, ...bit(a)]);
    for (let b = 0; b < a; b++) {
      flips.push([2, ...or(bit(a), bit(b))]);
      for (let c = 0; c < b; c++) flips.push([3, ...or(bit(a), bit(b), bit(c))]);
    }
  }
  const variants = Int32Array.from(flips.sort((a, b) => a[0] - b[0]).flat());
  const search = (query) => {
    const [low, high] = new Int32Array(query.slice().buffer);
    const hits = [];
    for (let i = 0; i < variants.length; i += 3) {
      const wantedLow = low ^ variants[i + 1];
      const wantedHigh = high ^ variants[i + 2];
      let at = mix(wantedLow, wantedHigh) & mask;
      for (; table[at] !== 0; at = (at + 1) & mask) {
        const row = table[at] - 1;
        if (words[2 * row] !== wantedLow || words[2 * row + 1] !== wantedHigh) continue;
        hits.push({ row, distance: variants[i] });
      }
    }
    return hits.sort((a, b) => a.distance - b.distance || a.row - b.row);
  };
  return { bytes: table.byteLength, lookUps: flips.length, search };
}

function bit(j) {
  return j < 32 ? [1 << j, 0] : [0, 1 << (j - 32)];
}

function or(...words) {
  return words.reduce(([low, high], word) => [low | word[0], high | word[1]]);
}

function mix(low, high) {
  let h = Math.imul(low, 0x9e3779b1) ^ Math.imul(high, 0x85ebca77);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  return h ^ (h >>> 13);
}

/**
 * For each bit the list of the rows that have it, and a counter a row: a row at a bit of the query
 * shares one more, and elsewhere one less than those that lack it too.
 */
export function bitLists(codes) {
  const { bytes, count } = codes;
  const lists = Array.from({ length: 64 }, (_, j) => {
    const [byte, mask] = [j >> 3, 1 << (j & 7)];
    let length = 0;
    for (let row = 0; row < count; row++) if (bytes[8 * row + byte] & mask) length++;
    const list = new Uint32Array(length);
    for (let row = 0, at = 0; row < count; row++) {
      if (bytes[8 * row + byte] & mask) list[at++] = row;
    }
    return list;
  });
  const shared = new Int8Array(count);
  const search = (query) => {
    let lacking = 0;
    for (let j = 0; j < 64; j++) if (!((query[j >> 3] >> (j & 7)) & 1)) lacking++;
    shared.fill(lacking);
    for (const [j, list] of lists.entries()) {
      const isSet = (query[j >> 3] >> (j & 7)) & 1;
      count1(shared, list, isSet ? 1 : -1);
    }
    const hits = [];
    for (let row = 0; row < count; row++) {
      if (shared[row] >= 64 - RADIUS) hits.push({ row, distance: 64 - shared[row] });
    }
    return hits.sort((a, b) => a.distance - b.distance || a.row - b.row);
  };
  const listed = lists.reduce((sum, list) => sum + list.byteLength, shared.byteLength);
  return { bytes: listed, lookUps: 64, search };
}

function count1(shared, list, by) {
  for (let i = 0; i < list.length; i++) shared[list[i]] += by;
}
