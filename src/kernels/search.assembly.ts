// The exports of the WebAssembly module that indexes and joins need; see hash.assembly.ts.

export { dots } from './dots.assembly';
export { distinctInto, joinRuns, keysInto, scatter, sortLow } from './joins.assembly';
export { sortHits, weighEntries } from './residuals.assembly';
export { encodeRows, residualTablesInto, rotate } from './rotation.assembly';
export { weightedHits } from './weighted.assembly';
