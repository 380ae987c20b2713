/**
 * Entry point `halfspace/node`: everything of `halfspace`, and what reads and writes files. Exports
 * by name and does nothing else; it needs the file system of Node.
 */

export {
  type CreateRowsOptions,
  createRows,
  type RowWriter,
} from './formats/create-rows';
export type { OutputOptions, RowOutput } from './formats/file-io';
export { type OpenRowsOptions, openRows } from './formats/open-rows';
export {
  type ApplyOptions,
  applyPlan,
  readPlan,
  writePlan,
} from './formats/plan-file';
export type {
  ColumnType,
  RowFormat,
  RowReader,
} from './formats/row-reader';
export * from './index';
export type { NewBatch } from './store/change';
export type { BuildOptions } from './store/index-folder';
export {
  type AppendOptions,
  type FolderOptimizeOptions,
  IndexFolder,
  openIndex,
  saveIndex,
} from './store/index-folder';
export type { FileKind, FolderFile, TextSettings } from './store/manifest';
export type { MergeOptions } from './store/merge-folders';
export type {
  FolderHealth,
  FolderProblem,
} from './store/verify';
export type { SaveIndexOptions } from './store/write-index';
export type { SealHeader } from './table/arrow/writer';
