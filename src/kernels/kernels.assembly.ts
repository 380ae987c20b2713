// The module's exports: pointers and counts in, nothing allocated. The caller owns the memory.

export { hitsOfResiduals, sumBlock, sumTwoBlocks } from './residuals/residuals.assembly';
export * from './dots/dots.assembly';
export * from './sums/hadamard.assembly';
export * from './hamming/hamming.assembly';
export * from './sums/signs.assembly';
export { hitsOfTile, planesInto, slicesInto } from './hamming/slices.assembly';
export * from './joins/joins.assembly';
export { largestInto, orderInto, productsInto } from './products/products.assembly';
export { rotate, twoBitsInto } from './rotation/rotation.assembly';
export * from './sums/sums.assembly';
export { choicesInto, hitsOfTables, tablesInto } from './hamming/tables.assembly';
export { weightedHits } from './weighted/weighted.assembly';
export { hashBytes } from './xxhash/xxhash.assembly';

