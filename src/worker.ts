/**
 * Entry point of a worker thread: serves every task that a job can name. The build bundles it into
 * src/threads/worker.generated.ts as a string, so that the library needs no extra file at run time,
 * whatever bundler an application uses.
 */

import { HASHING } from './hashing/simhash';
import { ANSWERING } from './index/answering';
import { PLACING } from './index/place';
import { NEAR_POINTS } from './index/truth';
import { NEAREST_CENTROIDS } from './k-means/k-means';
import { NEAREST_IN_TREE } from './k-means/two-level';
import { JOINING } from './near/join-job';
import { COMPARING } from './near/rows';
import { TEXT_HASHING } from './text/text-hasher';
import { type AnyTask, serve } from './threads/serve';

// A task that is missing here fails in the worker: `serve` finds no task of its name.
const tasks = [
  ANSWERING,
  COMPARING,
  HASHING,
  JOINING,
  NEAREST_CENTROIDS,
  NEAREST_IN_TREE,
  NEAR_POINTS,
  PLACING,
  TEXT_HASHING,
];

serve(tasks as unknown as AnyTask[]);
