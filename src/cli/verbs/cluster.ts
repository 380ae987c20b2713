/** `halfspace cluster`: which rows belong together, in so many clusters or by density. */

import { HASHING_OPTIONS, OUTPUT_OPTIONS } from '../shared-options';
import type { Verb } from '../verb';

export const verb: Verb = {
  name: 'cluster',
  summary: 'which rows belong together',
  usage: 'IN|DIR -o OUT',
  options: [
    { name: 'clusters', value: 'N', kind: 'integer', help: 'So many clusters, by k-means' },
    {
      ...{ name: 'by', value: 'WHAT', choices: ['vectors', 'accumulators', 'codes', 'majority'] },
      help:
        'Go by vectors (the default where they are dense), accumulators (the sums behind the ' +
        'bits, for texts and sparse vectors), codes, or codes with codes as centroids (majority)',
    },
    {
      name: 'starts',
      value: 'N',
      kind: 'integer',
      help: 'Begin so many times, go on with the best (3)',
    },
    { name: 'iterations', value: 'N', kind: 'integer', help: 'Most iterations (25)' },
    {
      ...{ name: 'start-seed', value: 'N', kind: 'integer', initial: '0' },
      help: 'Seed of the rows that k-means starts from',
    },
    {
      name: 'density',
      help: 'Clusters where rows are dense (HDBSCAN*), as many as there are; others are in -1',
    },
    {
      name: 'min-cluster-size',
      value: 'N',
      kind: 'integer',
      help: 'By density: fewest rows of a cluster (5)',
    },
    {
      ...{ name: 'min-samples', value: 'N', kind: 'integer' },
      help: 'By density: other rows that a row must have near it to be in a dense region (5)',
    },
    {
      ...{ name: 'max-distance', value: 'N', kind: 'integer' },
      help: 'By density: cut where steps are longer than N bits, in place of where mass is largest',
    },
    {
      ...{ name: 'exemplars', value: 'N', kind: 'integer' },
      help: 'Rows shown for each cluster, nearest to its centroid first (5)',
    },
    ...HASHING_OPTIONS,
    ...OUTPUT_OPTIONS,
  ],
  example:
    'halfspace cluster datasets/sample/docs.jsonl --text body --by accumulators --clusters 6',
  run: async (call) => (await import('./find-clusters')).findClusters(call),
};
