import { expect, it } from 'vitest';
import { ahead } from '../../src/base/ahead';

/** Items that note when each was made, and whether they were ended. */
function noted(count: number, failsAt = -1) {
  const notes: string[] = [];
  async function* items() {
    try {
      for (let i = 0; i < count; i++) {
        if (i === failsAt) throw new Error(`item ${i}`);
        notes.push(`made ${i}`);
        yield i;
      }
    } finally {
      notes.push('ended');
    }
  }
  return { notes, items: items() };
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

it('makes the next item while the caller waits, after what the caller began', async () => {
  const { notes, items } = noted(3);
  for await (const item of ahead(items)) {
    notes.push(`begun ${item}`);
    await turn();
    notes.push(`done ${item}`);
  }
  expect(notes).toEqual([
    ...['made 0', 'begun 0', 'made 1', 'done 0', 'begun 1', 'made 2', 'done 1'],
    ...['begun 2', 'ended', 'done 2'],
  ]);
});

it('gives no item of none', async () => {
  const found = [];
  for await (const item of ahead(noted(0).items)) found.push(item);
  expect(found).toEqual([]);
});

it('throws the error of an item in its place, though it was made before', async () => {
  const { notes, items } = noted(5, 2);
  const found: number[] = [];
  const all = async () => {
    for await (const item of ahead(items)) {
      await turn();
      found.push(item);
    }
  };
  await expect(all()).rejects.toThrow('item 2');
  expect(found).toEqual([0, 1]);
  expect(notes).toContain('ended');
});

it('ends the items where the caller stops, after the one that is being made', async () => {
  const { notes, items } = noted(9);
  for await (const item of ahead(items)) if (item === 1) break;
  expect(notes).toEqual(['made 0', 'made 1', 'made 2', 'ended']);
});
