import { describe, expect, it } from 'vitest';
import { SimHasher } from '../../src/hashing/simhash';
import type { EachText } from '../../src/near/common-text';
import { dedup } from '../../src/near/dedup';
import { TextHasher } from '../../src/node';
import { Draws } from '../reference/random';

/** Near-duplicates without the text that many texts share: templates that are filled differently. */

const draws = new Draws('common text');
const word = () => `w${Math.floor(20_000 * draws.uniform() ** 3)}`;
const some = (count: number) => Array.from({ length: count }, word);
const edited = (text: readonly string[], share: number) =>
  text.map((one) => (draws.uniform() < share ? word() : one));

/** Other texts, the fillings of templates and, of some of both, edited copies. */
const texts: string[][] = Array.from({ length: 300 }, () => some(60 + draws.integer(200)));
const templateOf = new Map<number, number>();
const fixedTexts: string[] = [];
for (let template = 0; template < 4; template++) {
  const fixed = Array.from({ length: 10 }, () => some(22));
  fixedTexts.push(...fixed.map((part) => part.join(' ')));
  for (let filling = 0; filling < 50; filling++) {
    templateOf.set(texts.length, template);
    texts.push(fixed.flatMap((part) => [...part, ...some(1 + draws.integer(4))]));
  }
}
const originals = texts.length;
const originalOf: number[] = [];
for (let i = 0; i < 120; i++) {
  const original = draws.integer(originals);
  originalOf.push(original);
  texts.push(edited(texts[original], [0, 0.01, 0.03, 0.06][i % 4]));
}
/** Fifteen versions each of two texts: edited each for itself, and each from the one before. */
const versions = texts.length;
const base = some(200);
let latest = some(200);
for (let i = 0; i < 15; i++) {
  texts.push(edited(base, 0.05), latest);
  latest = edited(latest, 0.02);
}
/** And of one that is half of two templates: all that is its own are its edits. */
const halves = [fixedTexts.slice(0, 5), fixedTexts.slice(10, 15)].flat().join(' ').split(' ');
for (let i = 0; i < 15; i++) texts.push(edited(halves, 0.03));
/** A form that is sent empty: twelve texts of which one word differs. */
const form = some(80);
const forms = texts.length;
for (let i = 0; i < 24; i++) texts.push(form.map((one, at) => (at === 40 ? `f${i}` : one)));
/** Fifteen reprints each of three texts: under a heading, between own texts, with a notice too. */
const reprints = texts.length;
const [headed, enclosed, noticed] = [some(150), some(150), some(150)];
for (let i = 0; i < 15; i++) {
  const at = 1 + draws.integer(149);
  const inside = [...noticed.slice(0, at), ...some(4), ...noticed.slice(at)];
  texts.push([...some(15), ...headed], [...some(12), ...enclosed, ...some(6)]);
  texts.push([...some(12), ...inside, ...some(6)]);
}

const hasher = new TextHasher({ bits: 256, tokens: 'shingles:2', projection: 'minwise' });
const codes = await hasher.hashAll(texts.map((text) => text.join(' ')));
const rows = texts.map((text) => hasher.vectorize(text.join(' ')));
const offsets = new Uint32Array(rows.length + 1);
rows.forEach(({ indices }, i) => {
  offsets[i + 1] = offsets[i] + indices.length;
});
const vectors = {
  offsets,
  indices: BigUint64Array.from(rows.flatMap(({ indices }) => [...(indices as BigUint64Array)])),
  values: Float64Array.from(rows.flatMap(({ values }) => [...(values as Float64Array)])),
};
const near = { minJaccard: 0.6, vectors };
const byTexts: EachText = (wanted, take) => {
  for (const row of wanted) take(hasher.members(texts[row].join(' ')), row);
};

/** The definition in plain sets. */
const sets = rows.map(({ indices }) => new Set(indices as BigUint64Array));
/** The pairs of words that stand in the templates. */
const fixedMembers = new Set(
  fixedTexts.flatMap((text) => [...(hasher.vectorize(text).indices as BigUint64Array)]),
);
const rests = sets.map((set) => new Set([...set].filter((one) => !fixedMembers.has(one))));
const inBoth = <T>(one: ReadonlySet<T>, other: ReadonlySet<T>) => {
  let count = 0;
  for (const member of one) if (other.has(member)) count++;
  return count;
};
const overlap = (a: number, b: number) => {
  const least = Math.min(rests[a].size, rests[b].size);
  return least === 0 ? 0 : inBoth(rests[a], rests[b]) / least;
};

const fillings = [...templateOf.keys()];
const joined = (groups: Uint32Array) =>
  fillings.filter((row) => fillings.some((one) => one < row && groups[one] === groups[row]));
const found = (groups: Uint32Array) =>
  originalOf.filter((row, i) => groups[row] === groups[originals + i]).length;
const droppedOf = (kept: Uint8Array) => texts.flatMap((_, row) => (kept[row] === 0 ? [row] : []));

describe('dedup with the text of templates', async () => {
  const before = await dedup(codes, near);
  const plan = await dedup(codes, { ...near, common: byTexts });

  it('keeps templates apart that are filled differently, and finds the copies', () => {
    expect(joined(before.groups).length).toBeGreaterThan(100);
    expect(joined(plan.groups)).toEqual([]);
    expect(found(before.groups)).toBeGreaterThan(115);
    expect(found(plan.groups)).toBeGreaterThanOrEqual(0.97 * found(before.groups));
  });

  it('leaves versions of one text as they are without it', () => {
    for (let row = versions; row < forms; row++) {
      expect(plan.groups[row]).toBe(before.groups[row]);
    }
    expect(new Set(plan.groups.subarray(versions, forms)).size).toBeLessThan(6);
  });

  it('makes one group of texts that are nothing but common text', () => {
    for (let row = forms; row < reprints; row++) {
      expect([plan.groups[row], plan.commons?.[row]]).toEqual([forms, 1]);
    }
  });

  it('drops reprints, which add their own texts around another', () => {
    for (let kind = 0; kind < 3; kind++) {
      const rows = Array.from({ length: 15 }, (_, i) => reprints + kind + 3 * i);
      expect(rows.map((row) => plan.kept[row])).toEqual([1, ...Array(14).fill(0)]);
    }
  });

  it('holds for components, and for a number of rows', { tags: 'thorough' }, async () => {
    const all = await dedup(codes, { ...near, common: byTexts, grouping: 'components' });
    expect(joined(all.groups)).toEqual([]);
    // Where all duplicates go, nothing else changes: versions of one text stay one group.
    expect(await dedup(codes, { ...near, common: byTexts, targetRows: 1 })).toEqual(plan);
    const targetRows = plan.kept.reduce((sum, one) => sum + one, 0) + 5;
    const some = await dedup(codes, { ...near, common: byTexts, targetRows });
    expect(some.kept.reduce((sum, one) => sum + one, 0)).toBe(targetRows);
    expect(fillings.filter((row) => some.kept[row] === 0)).toEqual([]);
  });

  it('changes nothing where there are none', async () => {
    const few = { keep: 'first', ...near, vectors: undefined, group: undefined } as const;
    const some = await hasher.hashAll(texts.slice(0, 300).map((text) => text.join(' ')));
    const sets = { ...vectors, offsets: offsets.slice(0, 301) };
    sets.indices = vectors.indices.slice(0, offsets[300]);
    sets.values = vectors.values.slice(0, offsets[300]);
    const options = { ...few, vectors: sets };
    expect(await dedup(some, { ...options, common: byTexts })).toEqual(await dedup(some, options));
  });
});

describe('dedup with common text', async () => {
  const common = BigUint64Array.from(fixedMembers);
  const plan = await dedup(codes, { ...near, common });

  it('keeps fillings apart', () => {
    expect(joined(plan.groups)).toEqual([]);
  });

  it('reports both similarities, as plain sets have them', () => {
    const { rests: overlaps = [], commons = [], duplicateOf } = plan;
    const dropped = droppedOf(plan.kept);
    expect(dropped.length).toBeGreaterThan(100);
    for (const row of dropped) {
      const other = duplicateOf[row];
      expect(overlaps[row]).toBeCloseTo(overlap(row, other), 12);
      const both = inBoth(sets[row], sets[other]);
      const jaccard = both / (sets[row].size + sets[other].size - both);
      expect(plan.similarities?.[row]).toBeCloseTo(jaccard, 12);
      expect(overlaps[row] >= 0.5 || commons[row] === 1).toBe(true);
    }
    texts.forEach((_, row) => {
      const rest = rests[row].size;
      expect(commons[row]).toBeCloseTo(rest < 4 ? 1 : 1 - rest / sets[row].size, 12);
    });
  });

  it('finds all pairs that are near by plain sets', { tags: 'thorough' }, async () => {
    const components = await dedup(codes, { ...near, common, grouping: 'components' });
    for (let a = 0; a < texts.length; a += 7) {
      for (let b = 0; b < texts.length; b++) {
        if (a === b || rests[a].size < 4 || rests[b].size < 4) continue;
        const both = inBoth(sets[a], sets[b]);
        if (both / (sets[a].size + sets[b].size - both) < 0.6 || overlap(a, b) < 0.5) continue;
        expect(components.groups[a]).toBe(components.groups[b]);
      }
    }
  });

  it('is refused where rows are not compared as sets, and with what has its pairs already', async () => {
    const refused = (options: object) => dedup(codes, { ...near, common: byTexts, ...options });
    await expect(refused({ vectors: undefined })).rejects.toThrow('"common" needs "minJaccard"');
    await expect(refused({ common: 2 })).rejects.toThrow('"common" expected a Big');
    await expect(refused({ common: [3n] })).rejects.toThrow('"common" expected a Big');
    await expect(refused({ minJaccard: undefined, maxDistance: 3 })).rejects.toThrow(
      '"common" needs',
    );
    const other: EachText = (_, take) => take(new BigUint64Array(1), -1);
    await expect(refused({ common: other })).rejects.toThrow('"row" expected one of those');
    const none = (rows: number[], take: (members: unknown, row: number) => void) =>
      take([], rows[0]);
    await expect(refused({ common: none })).rejects.toThrow('"members" expected a BigUint64Array');
    await expect(refused({ extend: plan })).rejects.toThrow('"common" goes without');
    const others = await new SimHasher({ bits: 64 }).hashAll([[1], [2]]);
    await expect(dedup(others, { maxDistance: 3, common: byTexts })).rejects.toThrow('needs');
  });
});
