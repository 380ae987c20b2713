import { afterAll, describe, expect, it } from 'vitest';
import { iterated, LongWork } from '../../src/base/long-work';
import { closeThreads, runJob } from '../../src/threads/parallel';

afterAll(closeThreads);

/** Blocks the calling thread. */
function spin(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

describe('LongWork', () => {
  it('reports progress, converted by each part around it, and nothing of quiet parts', async () => {
    const seen: number[][] = [];
    const work = new LongWork({ onProgress: (...progress) => seen.push(progress) });
    await work.step(1, 10);
    await work.step();
    const half = work.part((done, total) => [5 + (5 * done) / total, 10]);
    await half.step(1, 5);
    await half.part((done, total) => [done + 1, total]).step(1, 4);
    await half.quiet().step(3, 5);
    expect(seen).toEqual([
      [1, 10],
      [6, 10],
      [7.5, 10],
    ]);
  });

  it('goes forward alone where parts follow one another, of which one begins again', async () => {
    const seen: number[][] = [];
    const work = new LongWork({ onProgress: (...progress) => seen.push(progress) });
    const [short, long] = work.inParts([1, 4]);
    await short.step(1, 2);
    await long.step(1, 2);
    await long.step(0, 2);
    await long.step(2, 2);
    expect(seen).toEqual([
      [0.5, 5],
      [3, 5],
      [3, 5],
      [5, 5],
    ]);
  });

  it('lets the event loop run when 16 ms have passed, in whatever part, and not before', async () => {
    const work = new LongWork();
    let hasRun = false;
    setImmediate(() => {
      hasRun = true;
    });
    await work.step();
    expect(hasRun).toBe(false);
    spin(20);
    await work.quiet().unstopped().step();
    expect(hasRun).toBe(true);
    hasRun = false;
    setImmediate(() => {
      hasRun = true;
    });
    spin(20);
    work.restart();
    await work.step();
    expect(hasRun).toBe(false);
  });

  it('throws the reason of an abort, also of one during a pause or by the progress', async () => {
    const reason = new Error('enough');
    const stop = new AbortController();
    const work = new LongWork({ signal: stop.signal });
    setTimeout(() => stop.abort(reason));
    await expect(
      (async () => {
        for (;;) {
          spin(5);
          await work.step();
        }
      })(),
    ).rejects.toBe(reason);
    await expect(work.quiet().step()).rejects.toBe(reason);
    await expect(work.unstopped().step(1, 2)).resolves.toBeUndefined();
  });

  it('refuses unknown options and wrong types', () => {
    expect(() => LongWork.of({ sgnal: 1 } as never)).toThrow('did you mean "signal"?');
    expect(() => LongWork.of({ threads: 0 })).toThrow('"threads" expected an integer in 1..256');
    expect(() => LongWork.of({ signal: {} as never })).toThrow('"signal" expected an AbortSignal');
  });
});

describe('iterated', () => {
  it('runs as far as values are wanted', async () => {
    const events: string[] = [];
    const values = iterated<number>(async (send) => {
      for (let i = 0; i < 3; i++) {
        events.push(`sends ${i}`);
        await send(i);
      }
    });
    expect(events).toEqual([]);
    for await (const value of values) events.push(`takes ${value}`);
    expect(events).toEqual([0, 1, 2].flatMap((i) => [`sends ${i}`, `takes ${i}`]));
    expect(await values.next()).toEqual({ value: undefined, done: true });
  });

  it('ends the work when its loop is left, and runs what is in `finally`', async () => {
    const events: string[] = [];
    const values = iterated<number>(async (send) => {
      try {
        for (let i = 0; ; i++) await send(i);
      } finally {
        events.push('ended');
      }
    });
    for await (const value of values) if (value === 2) break;
    expect(events).toEqual(['ended']);
    expect((await values.next()).done).toBe(true);
  });

  it('passes on an error of the work, and answers calls that do not wait in order', async () => {
    const values = iterated<number>(async (send) => {
      await send(1);
      await send(2);
      throw new Error('no third');
    });
    const [one, two, three] = await Promise.allSettled([
      values.next(),
      values.next(),
      values.next(),
    ]);
    expect([one, two].map((next) => (next as { value: { value: number } }).value.value)).toEqual([
      1, 2,
    ]);
    expect(three).toMatchObject({ reason: { message: 'no third' } });
    const unread = iterated<number>(async () => undefined);
    expect(await unread.return?.()).toEqual({ value: undefined, done: true });
  });
});

describe('runJob', () => {
  /** Squares of 0 to count - 1, by the calling thread. */
  const squaring = (count: number, taken: number[]) => ({
    task: { name: 'squaring', open: (power: number) => (part: number) => part ** power },
    state: 2,
    count,
    part: (i: number) => i,
    take(result: number, i: number) {
      taken.push(result);
      return [i + 1, count] as const;
    },
  });

  it('does the parts in order, reports each and stops between two', async () => {
    const taken: number[] = [];
    const seen: number[][] = [];
    const stop = new AbortController();
    const work = new LongWork({
      signal: stop.signal,
      threads: 1,
      onProgress(...progress) {
        seen.push(progress);
        if (progress[0] === 3) stop.abort(new Error('three'));
      },
    });
    await expect(runJob(squaring(6, taken), work)).rejects.toThrow('three');
    expect(taken).toEqual([0, 1, 4, 9]);
    expect(seen).toEqual([
      [1, 6],
      [2, 6],
      [3, 6],
    ]);
  });

  it('refuses a job that the calling thread cannot do', async () => {
    const { task, ...job } = squaring(1, []);
    const alone = { ...job, task: { name: task.name } };
    await expect(runJob(alone, new LongWork())).rejects.toThrow('needs worker threads');
  });
});
