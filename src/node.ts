/** The door for Node: everything of the library, and files. */

export { readCodes, readSparse, readVectors, writeCodes } from './formats/arrow-file';
export { type ApplyOptions, applyPlan, readPlan, writePairs, writePlan } from './formats/plan-file';
export * from './index';
