/** The largest clusters as a table for people. */

import { RowBatch } from '../../node';
import type { Collection } from '../input/collection';
import type { Found } from './cluster-rows';
import { excerpt } from './excerpts';
import { counted, grouped } from './figures';
import { PeopleTable } from './people-table';

const SHOWN = 20;
const WIDTH = 100;

export async function clusterTable(
  { ids, count, there }: Collection,
  { clusters }: Found,
  labelOf: (row: number) => string,
): Promise<string> {
  const rows = there?.length ?? count;
  const order = clusters
    .map((cluster, number) => ({ ...cluster, number }))
    .sort((a, b) => b.size - a.size || a.number - b.number);
  const shown = order.slice(0, SHOWN);
  const inNone = rows - clusters.reduce((sum, { size }) => sum + size, 0);
  const lines: string[] = [
    `${counted(rows, 'row')} in ${counted(clusters.length, 'cluster')}` +
      (inNone > 0 ? `, ${grouped(inNone)} in none` : ''),
  ];
  if (shown.length === 0) return lines[0];
  const namesOf = (nearest: Uint32Array) => {
    return ids === null ? '' : excerpt(Array.from(nearest, (row) => String(ids[row])).join(', '));
  };
  const table = new PeopleTable({
    ...{ width: WIDTH, isColored: false },
    write: async (text) => {
      lines.push(text.trimEnd());
    },
  });
  await table.write(
    RowBatch.of({
      cluster: Int32Array.from(shown, ({ number }) => number),
      rows: Int32Array.from(shown, ({ size }) => size),
      'mean cosine': shown.map(({ cohesion }) => cohesion.toFixed(3)),
      medoid: shown.map(({ medoid }) => labelOf(medoid)),
      ...(ids !== null && { nearest: shown.map(({ exemplars }) => namesOf(exemplars)) }),
    }),
  );
  if (order.length > SHOWN) lines.push(`and ${counted(order.length - SHOWN, 'smaller one')}`);
  return lines.join('\n');
}
