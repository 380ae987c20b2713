/** The door for Node: everything of the library, and files. */

export { joinBatches } from './codes/arrow-columns';
export type { CodeHeader } from './codes/arrow-writer';
export type { Column } from './codes/column-builder';
export type { ColumnData, NumberArray } from './codes/column-data';
export type { ColumnInfo, Fit } from './codes/column-info';
export { RowBatch, type RowPlace } from './codes/row-batch';
export { type Applied, type ApplyOptions, applyPlan } from './formats/apply-plan';
export { readCodes, readSparse, readVectors, writeCodes } from './formats/arrow-file';
export { type CreateRowsOptions, createRows, type RowWriter } from './formats/create-rows';
export { type OpenRowsOptions, openRows } from './formats/open-rows';
export { readPlan, writePairs, writePlan } from './formats/plan-file';
export type { RowFormat } from './formats/row-format';
export { type OutputOptions, openOutput, type RowOutput } from './formats/row-output';
export type { ColumnType, Delimiter, RowReader, SkippedLine } from './formats/row-reader';
export * from './index';
export {
  type AppendOptions,
  appendToIndex,
  compactIndex,
  removeFromIndex,
} from './storage/change-index';
export { IndexFolder, openIndex } from './storage/index-folder';
export type { FileKind, FolderFile, TextSettings } from './storage/manifest';
export { saveIndex } from './storage/save-index';
export type { SaveIndexOptions } from './storage/save-request';
export { type FolderHealth, type FolderProblem, verifyIndex } from './storage/verify-index';
