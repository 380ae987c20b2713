// The exports of the WebAssembly module that texts and checksums need; see hash.assembly.ts.

export { asciiHashesInto, shinglesInto, wordHashesInto } from './words.assembly';
export { hashBytes, hashMore, hashWords } from './xxhash.assembly';
