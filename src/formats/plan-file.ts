/** Pairs and dedup plans as files. */

import { extname } from 'node:path';
import { wrongValue } from '../base/check';
import type { DedupPlan } from '../groups/dedup';
import {
  type PlanTableOptions,
  planFromArrow,
  planFromText,
  planToArrow,
  planToText,
  type TextFormat,
} from '../groups/plan-table';
import { pairsToArrow } from '../join/pair-stream';
import type { Pairs } from '../join/pairs';
import { readWhole, writeWhole } from './file-io';

const FORMATS: Record<string, TextFormat | 'arrow'> = {
  '.arrow': 'arrow',
  '.csv': 'csv',
  '.jsonl': 'jsonl',
};

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

function formatOf(path: string): TextFormat | 'arrow' {
  const format = FORMATS[extname(path).toLowerCase()];
  if (format !== undefined) return format;
  throw wrongValue('path', `a name that ends in ${Object.keys(FORMATS).join(', ')}`, path);
}
