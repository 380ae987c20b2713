/** The door of the library: safe in a browser, named re-exports and nothing else. */

export {
  type CodesFromArrowOptions,
  type CodesToArrowOptions,
  type CodesWithIds,
  codesFromArrow,
  codesToArrow,
  codesToTable,
} from './codes/arrow-codes';
export type { Ids } from './codes/arrow-ids';
export type { ArrowSource } from './codes/arrow-source';
export {
  type SparseFromArrowOptions,
  type SparseWithIds,
  sparseFromArrow,
  type VectorsFromArrowOptions,
  type VectorsWithIds,
  vectorsFromArrow,
} from './codes/arrow-vectors';
export {
  type BitOrder,
  bitString,
  type CodeOrigin,
  Codes,
  type CodesOptions,
  hammingDistance,
  parseBits,
} from './codes/codes';
export type {
  DenseMatrix,
  DenseVector,
  Indices,
  SparseMatrix,
  SparseVector,
  Values,
  Vector,
  VectorBatch,
} from './codes/vectors';
export { FormatError } from './format-error';
export {
  CLUSTER_DEFAULTS,
  type ClusterBy,
  type ClusterOptions,
  type Clusters,
  cluster,
  clusterAsync,
} from './groups/cluster';
export type { ClusterSource } from './groups/cluster-space';
export type { Cluster } from './groups/cluster-summary';
export { type DedupOptions, type DedupPlan, dedup, dedupAsync } from './groups/dedup';
export {
  DENSITY_DEFAULTS,
  type DensityGroups,
  type DensityOptions,
  densityGroups,
  densityGroupsAsync,
} from './groups/density';
export { extendPlan, extendPlanAsync } from './groups/extend-plan';
export type { Grouping } from './groups/grouping';
export type { Iteration } from './groups/k-means-run';
export type { ColumnValues, Keeper } from './groups/keeper';
export {
  NEIGHBOR_LISTS_DEFAULTS,
  type NeighborLists,
  type NeighborListsOptions,
  neighborLists,
  neighborListsAsync,
} from './groups/neighbor-lists';
export { type ByteStream, pairsToArrow } from './groups/pair-stream';
export {
  PAIRS_DEFAULTS,
  type PairBatch,
  type Pairs,
  type PairsOptions,
  type PairsPlan,
  pairs,
} from './groups/pairs';
export {
  PERMUTED_NEIGHBORS_DEFAULTS,
  type PermutedNeighborsOptions,
  permutedNeighbors,
  permutedNeighborsAsync,
} from './groups/permuted-neighbors';
export {
  type PlanTableOptions,
  planFromArrow,
  planFromText,
  planToArrow,
  planToText,
  type TextFormat,
} from './groups/plan-table';
export {
  GROUP_DEFAULTS,
  type GroupOptions,
  groupRows,
  groupRowsAsync,
  type RowGroup,
  type RowGroups,
} from './groups/row-groups';
export type { RowSource } from './groups/source';
export {
  type AngleEstimate,
  angleOf,
  bitsFor,
  catchProbability,
  cosineOf,
  distanceFor,
  estimateAngle,
  expectedDistance,
} from './hashing/angle';
export type { PatternFunction } from './hashing/patterns';
export {
  type Projection,
  SIMHASHER_DEFAULTS,
  SimHasher,
  type SimHasherOptions,
} from './hashing/simhash';
export type { KernelName } from './kernels/kernels';
export type { LongCall } from './long-call';
export type { Explanation, SearchResult } from './search/answer';
export type { Filter } from './search/filter';
export type { Id } from './search/id-table';
export {
  type IndexWithinOptions,
  OPTIMIZE_DEFAULTS,
  type OptimizeOptions,
  type Plan,
  type Rank,
  SEARCH_DEFAULTS,
  type SearchOptions,
  SIMHASH_INDEX_DEFAULTS,
  type SimHashIndexOptions,
} from './search/index-options';
export type { KeptSparseVector } from './search/kept-sparse';
export type { Keep } from './search/kept-vectors';
export { type MeanOptions, meanOf } from './search/mean';
export type { Neighbors } from './search/nearest';
export type { RecallReport } from './search/recall-report';
export {
  SCAN_DEFAULTS,
  type ScanOptions,
  scan,
  scanAll,
  scanWithin,
  scanWithinAll,
  type WithinOptions,
} from './search/scan';
export {
  type CosineNeighbors,
  SCAN_VECTORS_DEFAULTS,
  type ScanVectorsOptions,
  scanVectors,
  scanVectorsAll,
} from './search/scan-vectors';
export {
  type Comparison,
  type IdList,
  type IndexBytes,
  type IndexRow,
  SimHashIndex,
} from './search/simhash-index';
export {
  explainTexts,
  type TextComparison,
  type WordShare,
} from './text/explain-texts';
export { FrequencyTable, type TableOrigin } from './text/frequency-table';
export { jieba } from './text/jieba';
export { segments } from './text/segments';
export { stopWords } from './text/stop-words';
export {
  type Counting,
  TEXT_HASHER_DEFAULTS,
  TextHasher,
  type TextHasherOptions,
  type WeightedWord,
} from './text/text-hasher';
export { characters, shingles, type Tokens, words } from './text/tokens';
export { hashWord, type WordHash } from './text/word-hash';
