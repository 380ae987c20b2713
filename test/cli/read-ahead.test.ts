import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readAhead } from '../../src/cli/input/open-input';

const before = process.env.HALFSPACE_THREADS;
beforeEach(() => {
  process.env.HALFSPACE_THREADS = '2';
});
afterEach(() => {
  if (before === undefined) delete process.env.HALFSPACE_THREADS;
  else process.env.HALFSPACE_THREADS = before;
});

/** Waits for other threads, as an asynchronous call on a batch does. */
const work = () => new Promise((resolve) => setTimeout(resolve, 5));

/** A source of 0, 1, 2, … that notes in `log` what it is asked for, and when it is closed. */
async function* numbers(log: string[], count: number, error?: Error) {
  try {
    for (let i = 0; i < count; i++) {
      log.push(`read ${i}`);
      yield i;
    }
    if (error) throw error;
  } finally {
    log.push('closed');
  }
}

describe('readAhead', () => {
  it('reads one value while the consumer waits, after its first synchronous steps', async () => {
    const log: string[] = [];
    for await (const value of readAhead(numbers(log, 3))) {
      log.push(`begin ${value}`);
      await work();
      log.push(`end ${value}`);
    }
    const first = ['read 0', 'begin 0', 'read 1', 'end 0'];
    const rest = ['begin 1', 'read 2', 'end 1', 'begin 2', 'closed', 'end 2'];
    expect(log).toEqual([...first, ...rest]);
  });

  it('reads nothing ahead with one thread', async () => {
    process.env.HALFSPACE_THREADS = '1';
    const log: string[] = [];
    for await (const value of readAhead(numbers(log, 2))) {
      await work();
      log.push(`end ${value}`);
    }
    expect(log).toEqual(['read 0', 'end 0', 'read 1', 'end 1', 'closed']);
  });

  it('throws an error of the source after all values before it', async () => {
    const seen: number[] = [];
    const reading = async () => {
      for await (const value of readAhead(numbers([], 2, new Error('line 3')))) {
        await work();
        seen.push(value);
      }
    };
    await expect(reading()).rejects.toThrow('line 3');
    expect(seen).toEqual([0, 1]);
  });

  it('throws the error of the consumer, not that of the value read ahead, and closes', async () => {
    const log: string[] = [];
    const reading = async () => {
      for await (const _ of readAhead(numbers(log, 1, new Error('line 2')))) {
        await work();
        throw new Error('row 0');
      }
    };
    await expect(reading()).rejects.toThrow('row 0');
    expect(log).toEqual(['read 0', 'closed']);
  });

  it('closes the source of a loop that is left, after what was being read', async () => {
    const log: string[] = [];
    for await (const value of readAhead(numbers(log, 9))) if (value === 1) break;
    expect(log).toEqual(['read 0', 'read 1', 'read 2', 'closed']);
  });
});
