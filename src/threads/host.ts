/**
 * Starts one worker thread of the engine behind one interface: `worker_threads` in Node, a Web
 * Worker made from a Blob elsewhere. The script is a string in the bundle, so there is no file to
 * serve or to find. A page whose Content-Security-Policy lacks `worker-src blob:` has no workers.
 */

/** What the owner of a worker is notified of. */
interface Listener {
  onMessage(message: unknown): void;
  /** The worker is gone: it failed, was killed or could not start. May be called more than once. */
  onEnd(reason: string): void;
}

/** A running worker. */
export interface Host {
  /** Sends a message; buffers in `transfer` move to the worker and are detached here. */
  post(message: unknown, transfer: readonly ArrayBuffer[]): void;
  /** Sets whether the worker keeps the program running. No effect in browsers. */
  hold(isHeld: boolean): void;
  end(): Promise<unknown>;
}

const nodeThreads = () => globalThis.process?.getBuiltinModule?.('node:worker_threads');

/**
 * Starts a worker that runs `script`. Throws where the engine cannot make one; one that is made but
 * cannot start calls `onEnd`.
 */
export function startHost(script: string, listener: Listener): Host {
  const node = nodeThreads();
  return node === undefined ? webHost(script, listener) : nodeHost(node, script, listener);
}

function nodeHost(
  { Worker: NodeWorker }: NonNullable<ReturnType<typeof nodeThreads>>,
  script: string,
  { onMessage, onEnd }: Listener,
): Host {
  const worker = new NodeWorker(script, { eval: true, execArgv: [], name: 'halfspace' });
  // Started as not held: an unused worker must not keep the program from ending.
  worker.unref();
  worker.on('message', onMessage);
  worker.on('error', (error) => onEnd(String((error as Error)?.message ?? error)));
  worker.on('exit', (code) => onEnd(`exit code ${code}`));
  return {
    post: (message, transfer) => worker.postMessage(message, transfer),
    hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
    end: () => worker.terminate(),
  };
}

function webHost(script: string, { onMessage, onEnd }: Listener): Host {
  const url = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
  const worker = new Worker(url);
  worker.onmessage = ({ data }) => {
    // The first message proves that the script was loaded, so its Blob is no longer needed.
    URL.revokeObjectURL(url);
    onMessage(data);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    onEnd(event.message || 'it could not start');
  };
  worker.onmessageerror = () => onEnd('a message could not be read');
  return {
    post: (message, transfer) => worker.postMessage(message, [...transfer]),
    hold: () => undefined,
    end: async () => worker.terminate(),
  };
}
