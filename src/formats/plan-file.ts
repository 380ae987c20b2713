/** Pairs and dedup plans as files, and plans applied: a new file of the kept rows. */

import { extname } from 'node:path';
import { checkOptions, wrongValue } from '../check';
import { codesFromArrow } from '../codes/arrow-codes';
import { keepRows } from '../codes/arrow-keep';
import { FormatError } from '../format-error';
import { checkPlan, checksOf, type DedupPlan } from '../groups/dedup';
import { pairsToArrow } from '../groups/pair-stream';
import type { Pairs } from '../groups/pairs';
import {
  type PlanTableOptions,
  planFromArrow,
  planFromText,
  planToArrow,
  planToText,
  type TextFormat,
} from '../groups/plan-table';
import { readWhole, refuseSame, writeWhole } from './whole-file';

const FORMATS: Record<string, TextFormat | 'arrow'> = {
  '.arrow': 'arrow',
  '.csv': 'csv',
  '.jsonl': 'jsonl',
};

export interface ApplyOptions {
  /** The codes' column, where it is not called "code"; and how they are read. */
  column?: string;
  bits?: number;
  bitOrder?: 'lsb' | 'msb';
}

/** Writes pairs as an Arrow stream, in bounded memory. */
export async function writePairs(path: string, found: Pairs): Promise<void> {
  await writeWhole(path, pairsToArrow(found));
}

/** Writes a plan as .arrow, .csv or .jsonl, by the path. */
export async function writePlan(
  path: string,
  plan: DedupPlan,
  options?: PlanTableOptions,
): Promise<void> {
  const format = formatOf(path);
  const bytes =
    format === 'arrow'
      ? planToArrow(plan, options)
      : new TextEncoder().encode(planToText(plan, format, options));
  await writeWhole(path, [bytes]);
}

/** Reads a plan that was written so, and edited or not. */
export async function readPlan(path: string): Promise<DedupPlan> {
  const format = formatOf(path);
  const bytes = await readWhole(path);
  if (format === 'arrow') return planFromArrow(bytes, { file: path });
  return planFromText(new TextDecoder().decode(bytes), format, { file: path });
}

/**
 * Writes the rows of an Arrow file of codes that a plan keeps, all columns carried along, as a new
 * Arrow file. The source is only read; it must have the rows that the plan was made for.
 */
export async function applyPlan(
  plan: DedupPlan,
  source: string,
  output: string,
  options?: ApplyOptions,
): Promise<void> {
  const given = checkOptions('options', options, ['column', 'bits', 'bitOrder']);
  await refuseSame(source, output);
  const bytes = await readWhole(source);
  const { codes } = codesFromArrow(bytes, { ...given, file: source });
  try {
    checkPlan(plan, checksOf(codes));
  } catch (cause) {
    throw new FormatError((cause as Error).message, source, { cause });
  }
  await writeWhole(output, [keepRows(bytes, plan.kept, source)]);
}

function formatOf(path: string): TextFormat | 'arrow' {
  const format = FORMATS[extname(path).toLowerCase()];
  if (format !== undefined) return format;
  throw wrongValue('path', `a name that ends in ${Object.keys(FORMATS).join(', ')}`, path);
}
