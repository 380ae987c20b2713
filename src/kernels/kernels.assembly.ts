// The exports of the WebAssembly module: the functions that bindings call. They take
// addresses, counts and flags, allocate nothing, and check nothing: the caller owns the memory and
// guarantees that every address is valid.

export { sortHits } from './hits.assembly';
export { entriesOfRound, sumBlock, sumTwoBlocks, turnRows } from './residuals.assembly';
export * from './dots.assembly';
export * from './hadamard.assembly';
export * from './hamming.assembly';
export * from './signs.assembly';
export { hitsOfTile, planesInto, slicesInto } from './slices.assembly';
export * from './joins.assembly';
export * from './minwise.assembly';
export { largestInto, orderInto, productsInto } from './products.assembly';
export { residualTablesInto, rotate, twoBitsInto } from './rotation.assembly';
export * from './sums.assembly';
export { weightedHits } from './weighted.assembly';
export { hashBytes, hashMore, hashWords } from './xxhash.assembly';

