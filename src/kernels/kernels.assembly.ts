// The exports of the WebAssembly module: the functions that bindings (*.wasm.ts) call. They take
// addresses, counts and flags, allocate nothing, and check nothing: the caller owns the memory and
// guarantees that every address is valid.

export { sortHits } from './hits/hits.assembly';
export {
  entriesOfRound, heldOfResiduals, hitsOfResiduals, sumBlock, sumTwoBlocks, turnRows,
} from './residuals/residuals.assembly';
export * from './dots/dots.assembly';
export * from './sums/hadamard.assembly';
export * from './hamming/hamming.assembly';
export * from './sums/signs.assembly';
export { hitsOfTile, planesInto, slicesInto } from './hamming/slices.assembly';
export * from './joins/joins.assembly';
export * from './minwise/minwise.assembly';
export { largestInto, orderInto, productsInto, productsAmong } from './products/products.assembly';
export { residualTablesInto, rotate, twoBitsInto } from './rotation/rotation.assembly';
export * from './sums/sums.assembly';
export { weightedHits } from './weighted/weighted.assembly';
export { hashBytes, hashMore } from './xxhash/xxhash.assembly';

