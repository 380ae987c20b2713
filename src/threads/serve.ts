/**
 * What a worker thread does: opens jobs, does their parts one after another, and replies with each
 * result. It uses the kernels that the calling thread compiled.
 */

import { adoptMemory, adoptModules } from '../kernels/memory';
import type { Task } from './job';
import { type FromWorker, Packed, type ToWorker, unpacked } from './messages';

/** A task whose types only the job knows. */
export type AnyTask = Task<never, never, unknown>;

type Post = (message: FromWorker, transfer: readonly ArrayBuffer[]) => void;

interface OpenJob {
  readonly run: (part: never) => unknown;
  readonly memories: readonly WebAssembly.Memory[];
  readonly stopped: Int32Array;
}

/** Serves the thread that started this one, for ever. */
export function serve(tasks: readonly AnyTask[]): void {
  const byName = new Map(tasks.map((task) => [task.name, task]));
  const open = new Map<number, OpenJob>();
  const port = globalThis.process?.getBuiltinModule?.('node:worker_threads')?.parentPort;
  const web = globalThis as unknown as Worker;
  const post: Post = (message, transfer) => {
    if (port) port.postMessage(message, transfer);
    else web.postMessage(message, [...transfer]);
  };
  const take = (message: ToWorker) => {
    if (message.kind === 'modules') {
      adoptModules(message.modules);
      post({ kind: 'ready' }, []);
    } else if (message.kind === 'open') {
      const { job, memories, stopped } = message;
      open.set(job, { run: opened(byName, message), memories, stopped });
    } else if (message.kind === 'close') open.delete(message.job);
    else {
      const { job, part, value, copies } = message;
      const { run, memories, stopped } = open.get(job) as OpenJob;
      if (Atomics.load(stopped, 0) === 1) {
        post({ kind: 'dropped', job, part }, []);
        return;
      }
      try {
        const result = new Packed(run(unpacked(value, memories) as never), 'result');
        const transfer = [...result.transfer, ...copies];
        post({ kind: 'done', job, part, result: result.value, copies }, transfer);
      } catch (error) {
        post({ kind: 'failed', job, part, error }, []);
      }
    }
  };
  if (port) port.on('message', take);
  else web.onmessage = ({ data }) => take(data);
}

/** The function that does parts of a job; an error of `open` comes with the first of them. */
function opened(
  tasks: ReadonlyMap<string, AnyTask>,
  { task, state, memories, areas }: Extract<ToWorker, { kind: 'open' }>,
): (part: never) => unknown {
  try {
    memories.forEach((memory, i) => {
      adoptMemory(memory, areas[i]);
    });
    return (tasks.get(task) as AnyTask).open(unpacked(state, memories) as never);
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
