/** The door for Node: everything of the library, and files. */

export { readCodes, readSparse, readVectors, writeCodes } from './formats/arrow-file';
export * from './index';
