/**
 * A worker thread of the engine: `worker_threads` in Node, a Web Worker from a Blob elsewhere. The
 * script is a text in the bundle, so that there is no file to serve or to find. A page whose policy
 * forbids such workers (Content-Security-Policy without `worker-src blob:`) has none.
 */

interface Listener {
  onMessage(message: unknown): void;
  /** The worker is gone: it failed, was killed or could not start. */
  onEnd(reason: string): void;
}

export interface Host {
  post(message: unknown, transfer: readonly ArrayBuffer[]): void;
  /** Whether the worker keeps the program running. */
  hold(isHeld: boolean): void;
  end(): Promise<unknown>;
}

const nodeThreads = () => globalThis.process?.getBuiltinModule?.('node:worker_threads');

/** Starts a worker; throws where the engine has none. */
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
