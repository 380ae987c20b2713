/**
 * Entry point of a worker thread: serves every task that a job can name. The build bundles it into
 * src/threads/worker.generated.ts as a string, so that the library needs no extra file at run time,
 * whatever bundler an application uses.
 */

import { HASHING } from './hashing/simhash';
import { ANSWERING } from './index/answering';
import { PLACING } from './index/space';
import { NEAR_POINTS } from './index/truth';
import { NEAREST_CENTROIDS } from './k-means/centroid-tree';
import { adoptMemory, adoptModules } from './kernels/memory';
import { JOINING } from './near/join';
import { COMPARING } from './near/rows';
import { TEXT_HASHING } from './text/text-hasher';
import { type FromWorker, Packed, type Task, type ToWorker, unpacked } from './threads/job';

// A task that is missing here fails in the worker: `serve` finds no task of its name.
const tasks = [
  ANSWERING,
  COMPARING,
  HASHING,
  JOINING,
  NEAREST_CENTROIDS,
  NEAR_POINTS,
  PLACING,
  TEXT_HASHING,
];

serve(tasks as unknown as AnyTask[]);

/** A task whose types are known to its job alone. */
type AnyTask = Task<never, never, unknown>;

type Post = (message: FromWorker, transfer: readonly ArrayBuffer[]) => void;

/** A job that this thread works on. */
interface OpenJob {
  readonly run: (part: never) => unknown;
  readonly memories: readonly WebAssembly.Memory[];
  readonly stopped: Int32Array;
}

/** Answers the messages of the thread that started this one. */
function serve(tasks: readonly AnyTask[]): void {
  const byName = new Map(tasks.map((task) => [task.name, task]));
  const open = new Map<number, OpenJob>();
  const port = globalThis.process?.getBuiltinModule?.('node:worker_threads')?.parentPort;
  const web = globalThis as unknown as Worker;
  const post: Post = (message, transfer) => {
    // Node's worker has a port; a Web Worker posts to its global scope.
    if (port) port.postMessage(message, transfer);
    else web.postMessage(message, [...transfer]);
  };
  const take = (message: ToWorker) => {
    if (message.kind === 'open') {
      const { job, memories, stopped } = message;
      adoptModules(message.modules);
      open.set(job, { run: opened(byName, message), memories, stopped });
    } else if (message.kind === 'close') open.delete(message.job);
    else {
      const { job, part, value, copies } = message;
      const { run, memories, stopped } = open.get(job) as OpenJob;
      // Parts wait in the queue of messages, so a stopped job must be checked before each.
      if (Atomics.load(stopped, 0) === 1) {
        post({ kind: 'done', job, part, result: undefined, copies }, copies);
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
  post({ kind: 'ready' }, []);
}

/**
 * The function that computes parts of a job. If `open` throws, that function throws its error, so
 * that the error is reported as the failure of the first part.
 */
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
