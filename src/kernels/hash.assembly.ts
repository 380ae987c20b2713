// The exports of the WebAssembly module that hashes vectors and texts, and scans. The functions of
// all modules take addresses, counts and flags, allocate nothing, and check nothing: the caller
// owns the memory and guarantees that every address is valid. No module has data of its own in a
// memory, so all can work in the same one.

export { flipsInto, hadamardInto } from './hadamard.assembly';
export { hitsBelow } from './hamming.assembly';
export { minwiseInto } from './minwise.assembly';
export { hitsOfTile, planesInto } from './slices.assembly';
export { addHashed, hashRows, keysInto, signsInto } from './sums.assembly';
export { asciiHashesInto, shinglesInto, wordHashesInto } from './words.assembly';
export { hashBytes, hashMore, hashWords } from './xxhash.assembly';
