// The limits that the project set itself against rivals, by data set.

import { speedAt } from './recall-speed.mjs';
import { mark } from './table.mjs';

const NATIVE = ['ScaNN', 'FAISS IVF-PQ', 'FAISS HNSW16', 'FAISS HNSW32', 'hnswlib'];

/** Our speed as a multiple of the fastest of `rivals`, by recall; costs of the build. */
const MARKS = {
  glove: {
    speeds: [
      { kind: 'single', rivals: ['hnswlib-node'], least: { 0.9: 3.5, 0.95: 5, 0.99: 6 } },
      { kind: 'batch', rivals: ['ScaNN'], least: { 0.95: 1.1, 0.99: 1 } },
    ],
    optimizeSeconds: 4,
    openSeconds: 0.25,
    ofHnswlibNode: { build: 0.03, memory: 0.925 },
  },
  images: {
    speeds: [{ kind: 'single', rivals: ['hnswlib'], least: { 0.95: 1.3, 0.99: 1.5 } }],
    optimizeSeconds: 2,
  },
  sentences: {
    speeds: [
      { kind: 'single', rivals: NATIVE, least: { 0.95: 1.2 } },
      { kind: 'batch', rivals: NATIVE, least: { 0.95: 1.2 } },
    ],
  },
};

export function printMarks(set, ours, rivals) {
  const named = (name) => rivals.find((one) => one.name === name);
  const { speeds = [], optimizeSeconds, openSeconds, ofHnswlibNode } = MARKS[set] ?? {};
  for (const { kind, rivals: names, least } of speeds) {
    for (const [recall, limit] of Object.entries(least)) {
      const others = names.flatMap((name) => named(name) ?? []);
      const speedOf = (one) => speedAt(one[kind], Number(recall));
      const best = others
        .filter((one) => !Number.isNaN(speedOf(one)))
        .sort((a, b) => speedOf(b) - speedOf(a))[0];
      if (best === undefined) continue;
      const who = names.length > 1 ? `the best rival, ${best.name},` : best.name;
      const what = `${kind === 'single' ? 'one query a call' : '1,000 in one call'}, speed as a multiple of ${who} at recall ${recall}`;
      mark(what, speedOf(ours) / speedOf(best), { least: limit });
    }
  }
  if (optimizeSeconds !== undefined) {
    mark('seconds of optimize', ours.built.optimizeSeconds, { most: optimizeSeconds });
  }
  const ivf = named('FAISS IVF-PQ');
  if (ivf)
    mark(
      'optimize, of FAISS IVF-PQ train and add',
      ours.built.optimizeSeconds / ivf.built.seconds,
      { most: 1 },
    );
  if (openSeconds !== undefined)
    mark('seconds to open', ours.opened.seconds, { most: openSeconds });
  const node = named('hnswlib-node');
  if (ofHnswlibNode && node) {
    const build = ours.built.cpuSeconds / node.built.cpuSeconds;
    mark('CPU time to build, of hnswlib-node', build, { most: ofHnswlibNode.build });
    const memory = ours.opened.bytes / node.opened.bytes;
    mark('memory, of hnswlib-node', memory, { most: ofHnswlibNode.memory });
  }
}
