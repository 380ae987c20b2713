/** Checks the options of `optimize` against each other and the index. */

import { checkInteger, checkNumber, checkSeed, wrongType, wrongValue } from '../base/check';
import { checkDenseMatrix, type DenseMatrix, isDenseMatrix } from '../vectors/vectors';
import type { GivenQueries } from './evaluation';
import { OPTIMIZE_DEFAULTS, type OptimizeOptions } from './index-options';
import type { IndexParts } from './index-parts';
import type { Evaluating, Wanted } from './optimize';
import { residualBytesOf } from './partitions/residual-codes';
import { DenseVectors } from './vectors/dense-vectors';

const MAX_QUERIES = 1_000_000;

/** The options of `optimize` with their defaults. */
export function checkWanted(parts: IndexParts, options: OptimizeOptions): Wanted {
  const given = { ...OPTIMIZE_DEFAULTS, ...options };
  const { partitions, copies } = given;
  return {
    ...checkEvaluating(parts, options),
    recall: checkShare('recall', given.recall),
    k: checkInteger('k', given.k, 1, 10_000),
    partitions:
      partitions === undefined ? undefined : checkInteger('partitions', partitions, 1, 65_536),
    copies: copies === undefined ? undefined : checkCopies(parts, copies),
    seed: String(checkSeed(given.seed)),
  };
}

/** What recall is measured with. */
function checkEvaluating(
  parts: IndexParts,
  { queries, truth, vectors }: OptimizeOptions,
): Evaluating {
  if (parts.hasher.projection === 'minwise') {
    throw new Error(
      `projection 'minwise' needs no optimize(): searches go by distance, and are exact`,
    );
  }
  const isCount = queries === undefined || typeof queries === 'number';
  if (isCount && truth !== undefined) {
    throw wrongType('queries', 'vectors, since "truth" is given', queries);
  }
  const count = isCount ? (queries ?? OPTIMIZE_DEFAULTS.queries) : OPTIMIZE_DEFAULTS.queries;
  const given: GivenQueries | null = isCount ? null : { queries, truth };
  return {
    queries: checkInteger('queries', count, 2, MAX_QUERIES),
    given,
    vectors: vectors === undefined ? parts.dense : asGiven(parts, vectors),
  };
}

/** A caller's vectors of all rows, copied to float32, from which true neighbours are computed. */
function asGiven({ distinctCodes, hasher, kernel }: IndexParts, matrix: DenseMatrix): DenseVectors {
  if (!isDenseMatrix(matrix)) throw wrongType('vectors', 'a matrix of dense vectors', matrix);
  const count = checkDenseMatrix(matrix, 'vectors');
  const { rowCount } = distinctCodes;
  if (count !== rowCount) throw wrongValue('vectors', `${rowCount} rows, as were added`, count);
  const { dimensions } = matrix;
  if (hasher.dimensions !== undefined && hasher.dimensions !== dimensions) {
    throw wrongValue('vectors', `vectors of ${hasher.dimensions} dimensions`, dimensions);
  }
  const vectors = new DenseVectors('float32', dimensions, kernel);
  vectors.append(matrix, 0, count, (row) => distinctCodes.hasCode(row));
  return vectors;
}

/** Copies are residual codes, which dense vectors have. */
function checkCopies(parts: IndexParts, copies: unknown): boolean {
  if (typeof copies !== 'boolean') throw wrongType('copies', 'true or false', copies);
  if (!copies || residualBytesOf(parts) > 0) return copies;
  const kind = parts.vectors?.kind ?? 'none';
  throw wrongValue('vectors', "'int8' or 'float32', which copies need", kind);
}

/** A number above 0 and at most 1. */
function checkShare(name: string, value: number): number {
  if (checkNumber(name, value, 0, 1) > 0) return value;
  throw wrongValue(name, 'a number above 0', value);
}
