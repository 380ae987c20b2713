/**
 * Entry point `halfspace`: runs in browsers and in Node, and imports nothing of Node's. Exports by
 * name and does nothing else, so bundlers can drop what an application does not import.
 */

export { FormatError, type Ids } from './base/check';
export type { LongCall } from './base/long-work';
export {
  type ClusterOptions,
  type ClusterSource,
  type Clusters,
  cluster,
} from './clusters/cluster';
export {
  clusterByDensity,
  type DensityClusters,
  type DensityOptions,
} from './clusters/density';
export type { Cluster } from './clusters/describe';
export {
  type BitOrder,
  type CodeOrigin,
  Codes,
  type CodesOptions,
  hammingDistance,
} from './codes/codes';
export {
  type AngleEstimate,
  bitsFor,
  distanceFor,
  estimateAngle,
} from './codes/measure';
export type { Neighbors } from './codes/scan';
export {
  type ScanOptions,
  scan,
  scanAll,
} from './codes/scan';
export type { PatternFunction } from './hashing/rows';
export { type Projection, SimHasher, type SimHasherOptions } from './hashing/simhash';
export type {
  Explanation,
  IndexRow,
  SearchResult,
} from './index/answer';
export type { Filter } from './index/filter';
export type { Id } from './index/ids';
export type {
  IndexWithinOptions,
  OptimizeOptions,
  QueryRecall,
  Rank,
  RecallReport,
  SearchOptions,
  SimHashIndexOptions,
} from './index/index-options';
export { type IdList, SimHashIndex } from './index/simhash-index';
export type { KeptSparseVector, VectorStorage } from './index/vectors/row-vectors';
export {
  type CalibrateOptions,
  type Calibration,
  type CalibrationLine,
  calibrate,
  type KnownPairs,
} from './measure/calibrate';
export { type MeasureRecallOptions, measureRecall } from './measure/recall';
export { type DedupOptions, dedup } from './near/dedup';
export type { ColumnValues, Grouping, Keep } from './near/groups';
export { type PairBatch, type PairsOptions, pairs } from './near/pairs';
export type { DedupPlan } from './near/plan';
export type { PlanTableOptions } from './near/plan-table';
export type { RowSource } from './near/rows';
export { indexFromArrow, indexToArrow } from './store/arrow-index';
export {
  type OpenStoredOptions,
  type OpenUrlOptions,
  openIndexUrl,
  type StoredFigures,
  type StoredIndex,
} from './store/stored-index';
export type { ArrowSource } from './table/arrow/batches';
export type { Column, ColumnData } from './table/columns/make';
export type { ColumnInfo, Fit, NumberArray } from './table/columns/types';
export {
  type CodesFromArrowOptions,
  type CodesToArrowOptions,
  type CodesWithIds,
  codesFromArrow,
  codesToArrow,
  type RowsFromArrowOptions,
  rowsFromArrow,
} from './table/from-arrow';
export { RowBatch, type RowPlace } from './table/row-batch';
export { embed } from './text/embed';
export { frequenciesFromArrow, frequenciesToArrow } from './text/frequency-file';
export { FrequencyTable } from './text/frequency-table';
export {
  type Counting,
  TextHasher,
  type TextHasherOptions,
  type WeightedWord,
} from './text/text-hasher';
export type { Tokenizer, Tokens } from './text/tokens';
export { closeThreads } from './threads/parallel';
export {
  type CosineNeighbors,
  type ScanVectorsOptions,
  scanVectors,
  scanVectorsAll,
} from './vectors/scan-vectors';
export type {
  DenseMatrix,
  DenseVector,
  Indices,
  SparseMatrix,
  SparseVector,
  TextModel,
  Values,
  Vector,
  VectorBatch,
} from './vectors/vectors';
