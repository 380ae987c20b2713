/**
 * Entry point of a worker thread: serves every task that a job can name. The build bundles it into
 * src/threads/worker.generated.ts, a text, so that the library finds it however it is bundled.
 */

import { HASHING } from './hashing/hash-batch';
import { type AnyTask, serve } from './threads/serve';

serve([HASHING] as unknown as AnyTask[]);
