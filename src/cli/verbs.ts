/** All verbs of the command; the code of each is loaded when it is asked for. */

import type { VerbEntry } from './verb';

export const VERBS: readonly VerbEntry[] = [
  {
    ...{ name: 'fingerprint', summary: 'vectors or texts to codes, other columns carried along' },
    load: () => import('./verbs/fingerprint'),
  },
  {
    ...{ name: 'index', summary: 'an index folder: make it, append to it, remove, optimize' },
    load: () => import('./verbs/index'),
  },
  {
    ...{ name: 'search', summary: 'the nearest rows of an index' },
    load: () => import('./verbs/search'),
  },
  {
    ...{ name: 'pairs', summary: 'all pairs of rows within a distance' },
    load: () => import('./verbs/pairs'),
  },
  {
    ...{ name: 'dedup', summary: 'which rows are nearly the same, and which to keep: a plan' },
    load: () => import('./verbs/dedup'),
  },
  {
    ...{ name: 'cluster', summary: 'which rows belong together' },
    load: () => import('./verbs/cluster'),
  },
  {
    ...{ name: 'calibrate', summary: 'what a distance means in your own rows' },
    load: () => import('./verbs/calibrate'),
  },
  {
    ...{ name: 'report', summary: 'a page about an index' },
    load: () => import('./verbs/report'),
  },
  {
    ...{ name: 'info', summary: 'what an index or a file holds' },
    load: () => import('./verbs/info'),
  },
  {
    ...{ name: 'verify', summary: 'every checksum and invariant of an index or a file' },
    load: () => import('./verbs/verify'),
  },
  {
    ...{ name: 'completion', summary: 'completion for bash or zsh' },
    load: async () => ({ verb: (await import('./verbs/completion')).completionOf(VERBS) }),
  },
];
