/**
 * Entry point `halfspace/node`: everything of `halfspace`, and what reads and writes files. Exports
 * by name and does nothing else; it needs the file system of Node.
 */

export type { BuildOptions } from './folder/build-index';
export type { NewBatch } from './folder/folder-change';
export { IndexFolder, openIndex } from './folder/index-folder';
export type { MergeOptions } from './folder/merge-folders';
export type { FolderOptimizeOptions } from './folder/optimize-stored';
export { saveIndex } from './folder/save-index';
export type { AppendOptions } from './folder/stored-operations';
export type {
  FolderHealth,
  FolderProblem,
  OpenIndexOptions,
  RepairLoss,
  RepairOptions,
} from './folder/verify-index';
export type { SaveIndexOptions } from './folder/write-generation';
export { type Applied, type ApplyOptions, applyPlan } from './formats/apply-plan';
export { readCodes, readSparse, readVectors, writeCodes } from './formats/arrow/arrow-file';
export { type CreateRowsOptions, createRows, type RowWriter } from './formats/create-rows';
export type { OutputOptions, RowOutput } from './formats/file-io';
export { type OpenRowsOptions, openRows } from './formats/open-rows';
export { type ReadPlanOptions, readPlan, writePairs, writePlan } from './formats/plan-file';
export type { RowFormat } from './formats/row-format';
export type { ColumnType, Delimiter, RowReader, SkippedLine } from './formats/row-reader';
export * from './index';
export type { FileKind, FolderFile, TextSettings } from './stored/manifest';
export type { CodeHeader, KindHeader } from './table/arrow/writer';
export type { Column } from './table/columns/builder';
export type { ColumnData } from './table/columns/make';
export type { ColumnInfo, Fit, NumberArray } from './table/columns/types';
export { RowBatch, type RowPlace } from './table/row-batch';
