import { readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { runSteps } from '../../src/base/steps';
import { FolderFiles } from '../../src/folder/folder-files';
import type { Query } from '../../src/index/index-parts';
import { queryOf } from '../../src/index/query';
import { candidatesOf, inMemory, type Measured } from '../../src/index/recall';
import { partsOf } from '../../src/index/simhash-index';
import { FormatError, openIndex, type SimHashIndex } from '../../src/node';
import { openStored, type StoredIndex } from '../../src/stored/open-stored';
import { temporaryFolder } from '../folder/collection';
import { fileOf } from './files';
import { clustered, DIMENSIONS, found, KINDS, writeFolder } from './places';

/** Searches whose partitions pass, since they do not fit into memory together. */

const root = await temporaryFolder();
const QUERIES = 40;
const PARTITIONS = 60;
const values = clustered(1, QUERIES);
const vectorAt = (i: number) => values.subarray(i * DIMENSIONS, (i + 1) * DIMENSIONS);
const NEVER = () => {
  throw new Error('not asked for');
};

describe.each(KINDS.filter(({ isPartitioned }) => isPartitioned))('$name', (kind) => {
  let folder = '';
  let memory: SimHashIndex;
  let small: StoredIndex;
  let queries: { row: null; query: Query }[] = [];

  beforeAll(async () => {
    folder = await writeFolder(root, kind);
    memory = await openIndex(folder);
    const large = await openStored(new FolderFiles(folder), { memory: 2 ** 26 });
    const { fixed } = large.figures;
    await large.close();
    small = await openStored(new FolderFiles(folder), { memory: fixed + 60_000 });
    queries = Array.from({ length: QUERIES }, (_, i) => {
      return { row: null, query: queryOf(partsOf(memory), vectorAt(i)) as Query };
    });
    return () => small.close();
  });

  /** The candidates of all queries, as a build records them. */
  function candidates(setting: { probes: number; want: number }) {
    const measured: Measured = {
      get parts() {
        return small.view(true);
      },
      ...{ mayScan: false, partitionOf: NEVER, secondOf: NEVER, isAlone: NEVER, together: NEVER },
    };
    const searches = queries.map((one) => candidatesOf(measured, one, 5, setting));
    return small.together(searches, {});
  }

  it.each([
    { probes: 2, want: 5 },
    { probes: 12, want: 20 },
    { probes: 12, want: 100 },
    { probes: 45, want: 130 },
    { probes: PARTITIONS, want: 5 },
    { probes: PARTITIONS, want: 400 },
  ])('finds for many queries the candidates of an index in memory: %o', async (setting) => {
    const own = inMemory(partsOf(memory));
    const { evictions } = small.figures;
    const results = await candidates(setting);
    queries.forEach((one, i) => {
      const wanted = runSteps(candidatesOf(own, one, 5, setting), {});
      expect(wanted.length).toBeGreaterThan(3);
      expect([...results[i]]).toEqual([...wanted]);
    });
    expect(small.figures.evictions).toBeGreaterThan(evictions);
  });

  it('reads each partition few times for all queries', async () => {
    const { partitionMisses } = small.figures;
    await candidates({ probes: PARTITIONS, want: 5 });
    const misses = small.figures.partitionMisses - partitionMisses;
    expect(misses).toBeGreaterThan(PARTITIONS / 2);
    // Those that each search sees first, and once more all; by searches of codes none is first.
    expect(misses).toBeLessThan(kind.options.vectors === undefined ? PARTITIONS + 1 : 300);
  });

  it.each(['partitions', 'estimate'])('answers single searches as in memory: %s', async (name) => {
    const rank = name === 'estimate' ? { rank: 'estimate' as const } : {};
    const options = { k: 7, method: 'partitions', probes: PARTITIONS, ...rank } as const;
    for (let i = 0; i < 5; i++) {
      const wanted = found(memory.search(vectorAt(i), options));
      expect(found(await small.search(vectorAt(i), options))).toEqual(wanted);
    }
  });

  it('names the block that is damaged', async () => {
    const path = fileOf(folder, 'rows');
    const bytes = readFileSync(path);
    writeFileSync(path, Buffer.from(bytes).fill(0x55, bytes.length >> 2));
    const error = await candidates({ probes: PARTITIONS, want: 50 }).catch((one) => one);
    writeFileSync(path, bytes);
    expect(error).toBeInstanceOf(FormatError);
    expect(error.message).toMatch(/block \d+ fails its checksum/);
    expect(error.message).toContain(path);
    expect(await candidates({ probes: PARTITIONS, want: 50 })).toHaveLength(QUERIES);
  });
});
