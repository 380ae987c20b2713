// The module's exports: pointers and counts in, nothing allocated. The caller owns the memory.

export { hitsOfSketches, sumBlock, sumTwoBlocks } from './sketches';
export * from './dots';
export * from './hadamard';
export * from './hamming';
export * from './signs';
export { hitsOfTile, planesInto, slicesInto } from './slices';
export * from './joins';
export { largestInto, orderInto, productsInto } from './products';
export { rotate, twoBitsInto } from './rotation';
export * from './sums';
export { choicesInto, hitsOfTables, tablesInto } from './tables';
export { weightedHits } from './weighted';
export { hashBytes } from './xxhash';

