import { expect, it } from 'vitest';

/**
 * The protocol by which writers publish generations (src/store/generations.ts), as a small model
 * that is explored whole: two writers that save again and again, every order of their steps, and at
 * every point a kill of a writer or a loss of power. What is promised: the newest manifest has all
 * its files; what was reported as saved stays; what was reported as lost is nowhere.
 */

/** A manifest: its generation, its own name, what it follows, and its files. */
interface Manifest {
  readonly generation: number;
  readonly id: string;
  readonly previous: string | null;
  /** Every manifest that it builds on, itself last. */
  readonly chain: readonly string[];
  readonly files: readonly string[];
}

/** Names in the folder: of manifests by generation, and of data files with their generations. */
interface Folder {
  readonly manifests: ReadonlyMap<number, Manifest>;
  readonly files: ReadonlyMap<string, number>;
}

/** A writer: what it does next, the manifest that it began from and the one that it makes. */
interface Writer {
  readonly next: Step | 'dead' | 'idle';
  readonly saves: number;
  readonly base: Manifest | null;
  readonly made: Manifest | null;
}

type Step = 'read' | 'write' | 'sync' | 'link' | 'look' | 'publish' | 'tidy';

interface State {
  /** As processes see it, and as it is after a loss of power. */
  readonly folder: Folder;
  readonly durable: Folder;
  readonly writers: readonly Writer[];
  readonly saved: readonly string[];
  readonly lost: readonly string[];
}

/** How the protocol can be broken, to show that the model notices. */
interface Flaws {
  readonly replaces?: boolean;
  readonly skipsSync?: boolean;
  readonly skipsLook?: boolean;
  readonly alwaysTells?: boolean;
}

/** How often each writer saves: one may be overtaken by many generations of the other. */
const SAVES = [1, 4];

const newestOf = ({ manifests }: Folder): Manifest | null =>
  manifests.get(Math.max(0, ...manifests.keys())) ?? null;

const without = <K, V>(map: ReadonlyMap<K, V>, gone: (key: K, value: V) => boolean) =>
  new Map([...map].filter(([key, value]) => !gone(key, value)));

/** One step of a writer. */
function stepped(state: State, who: number, flaws: Flaws): State {
  const { folder } = state;
  const writer = state.writers[who];
  const { base, made } = writer;
  const to = (next: Writer['next'], changes: Partial<Writer> = {}, more: Partial<State> = {}) => ({
    ...state,
    ...more,
    writers: state.writers.map((one, i) => (i === who ? { ...one, ...changes, next } : one)),
  });
  const again = writer.saves + 1 < SAVES[who] ? 'read' : 'idle';
  const lose = (at: Folder) => {
    const { id, files } = made as Manifest;
    const left = { ...at, files: without(at.files, (name) => name === files.at(-1)) };
    const changes = { saves: writer.saves + 1, base: null, made: null };
    return to(again, changes, { folder: left, lost: [...state.lost, id] });
  };
  switch (writer.next as Step) {
    case 'read':
      return to('write', { base: newestOf(folder) });
    case 'write': {
      const generation = (base?.generation ?? 0) + 1;
      const id = `${'ab'[who]}${writer.saves}`;
      const file = `${id}.${generation}`;
      const chain = [...(base?.chain ?? []), id];
      // Each save replaces the file before the last one, as merges do.
      const files = [...(base?.files.slice(-1) ?? []), file];
      const next = { generation, id, previous: base?.id ?? null, chain, files };
      const written = new Map(folder.files).set(file, generation);
      const step = flaws.skipsSync ? 'link' : 'sync';
      return to(step, { made: next }, { folder: { ...folder, files: written } });
    }
    case 'sync':
      return to('link', {}, { durable: folder });
    case 'link': {
      const { generation } = made as Manifest;
      if (folder.manifests.has(generation) && !flaws.replaces) return lose(folder);
      const manifests = new Map(folder.manifests).set(generation, made as Manifest);
      return to(flaws.skipsLook ? 'publish' : 'look', {}, { folder: { ...folder, manifests } });
    }
    case 'look': {
      const { generation, id } = made as Manifest;
      const later = [...folder.manifests.keys()].sort((a, b) => a - b).find((g) => g > generation);
      if (later === undefined || folder.manifests.get(later)?.previous === id) return to('publish');
      const isThere = folder.manifests.get(generation)?.id === id;
      // Its manifest was removed by generations that may follow it: it cannot be told.
      if (later > generation + 1 && !isThere && !flaws.alwaysTells) {
        return to(again, { saves: writer.saves + 1, base: null, made: null });
      }
      const manifests = without(folder.manifests, (_, one) => one.id === id);
      return lose({ ...folder, manifests });
    }
    case 'publish':
      return to('tidy', {}, { durable: folder, saved: [...state.saved, (made as Manifest).id] });
    case 'tidy': {
      // One name at a time: manifests first, those of lower generations before others.
      const own = made as Manifest;
      const kept = [own, ...(base === null ? [] : [base])];
      const old = [...folder.manifests.keys()]
        .filter((g) => g <= own.generation && !kept.some(({ generation }) => generation === g))
        .sort((a, b) => a - b)[0];
      if (old !== undefined) {
        const manifests = without(folder.manifests, (g) => g === old);
        return to('tidy', {}, { folder: { ...folder, manifests } });
      }
      const named = new Set(kept.flatMap(({ files }) => files));
      const files = without(folder.files, (name, g) => g <= own.generation && !named.has(name));
      const changes = { saves: writer.saves + 1, base: null, made: null };
      return to(again, changes, { folder: { ...folder, files } });
    }
  }
}

/** What of a promise a folder breaks; null if none. */
function broken({ saved, lost }: State, folder: Folder): string | null {
  const newest = newestOf(folder);
  const missing = newest?.files.find((file) => !folder.files.has(file));
  if (missing !== undefined) return `${newest?.id} lacks ${missing}`;
  const gone = saved.find((id) => !newest?.chain.includes(id));
  if (gone !== undefined) return `${gone} was saved and is gone`;
  const there = lost.find((id) => newest?.chain.includes(id));
  return there === undefined ? null : `${there} was lost and is there`;
}

const textOf = (state: State) =>
  JSON.stringify(state, (_, value) => (value instanceof Map ? [...value].sort() : value));

/** Goes through all states; returns how many there are, or what is broken first. */
function explored(flaws: Flaws): number | string {
  const empty = { manifests: new Map(), files: new Map() };
  const writer: Writer = { next: 'read', saves: 0, base: null, made: null };
  const first = { folder: empty, durable: empty, writers: [writer, writer], saved: [], lost: [] };
  const seen = new Set<string>();
  const waiting: State[] = [first];
  for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
    const text = textOf(state);
    if (seen.has(text)) continue;
    seen.add(text);
    // A loss of power leaves what was synced, and of the names that changed since some or all.
    for (const { manifests } of [state.folder, state.durable]) {
      for (const { files } of [state.folder, state.durable]) {
        const found = broken(state, { manifests, files });
        if (found !== null) return found;
      }
    }
    for (const [who, { next }] of state.writers.entries()) {
      if (next === 'idle' || next === 'dead') continue;
      waiting.push(stepped(state, who, flaws));
      const writers = state.writers.map((one, i) => (i === who ? { ...one, next: 'dead' } : one));
      waiting.push({ ...state, writers } as State);
    }
  }
  return seen.size;
}

it('keeps its promises in every state that two writers, kills and losses of power can reach', () => {
  expect(explored({})).toEqual(expect.any(Number));
});

it.each([
  [{ replaces: true }, /is gone|lacks|is there/],
  [{ skipsSync: true }, /lacks/],
  [{ skipsLook: true }, /saved and is gone/],
  [{ alwaysTells: true }, /was lost and is there/],
])('would break them otherwise: %j', (flaws, what) => {
  expect(explored(flaws)).toMatch(what);
});
