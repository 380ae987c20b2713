/** The report of an index as a page. */

import { ENOUGH_PAIRS } from '../../measure/calibrate';
import { PairTally, total } from '../../measure/pair-tally';
import { counted, fixed, grouped, percent, plain } from '../output/figures';
import { cosineChart, distanceHistogram } from './distance-charts';
import { groupChart, mapChart, speedChart } from './index-charts';
import type { Example, IndexReport } from './index-report';
import { type Cell, figure, page, paragraph, section, shortened, table } from './page';

/** What the folder says of itself, before anything is measured. */
export interface FolderFacts {
  readonly path: string;
  /** Names and values. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly files: readonly { name: string; kind: string; rows: number; size: string }[];
  readonly problems: readonly { file: string; message: string }[];
}

/** What a row is called, and its text where a column of texts is carried. */
export interface RowNames {
  idOf(row: number): string;
  /** Ids that are numbers say less than a text. */
  readonly areIdsNumbers: boolean;
  /** The carried column of texts; null where there is none. */
  readonly column: string | null;
  textOf(row: number): string | null;
}

const SNIPPET = 160;
const NAME = 28;
const number = (text: string): Cell => ({ number: text });

/** Without a report and names, the folder could not be opened: its problems say why. */
export function indexPage(
  folder: FolderFacts,
  report: IndexReport | null,
  names: RowNames | null,
): string {
  return page(`Index ${folder.path}`, [
    aboutSection(folder),
    healthSection(folder),
    ...(report === null || names === null ? [] : measured(report, names)),
  ]);
}

function aboutSection({ facts, files }: FolderFacts): string {
  return section('about', 'What it is', [
    table([], facts),
    table(
      ['file', 'holds', number('rows'), number('size')],
      files.map(({ name, kind, rows, size }) => [name, kind, number(grouped(rows)), number(size)]),
    ),
  ]);
}

function healthSection({ problems, files }: FolderFacts): string {
  if (problems.length === 0) {
    const sound = `Sound: every checksum and invariant of ${counted(files.length, 'file')} holds.`;
    return section('health', 'Health', [paragraph(sound, 'good')]);
  }
  return section('health', 'Health', [
    paragraph(`Damaged: ${counted(problems.length, 'problem')} found.`, 'bad'),
    table(
      ['file', 'problem'],
      problems.map(({ file, message }) => [file, message]),
    ),
  ]);
}

function measured(report: IndexReport, names: RowNames): string[] {
  if (report.rows === 0) return [paragraph('The index has no rows: there is nothing to measure.')];
  const nameOf = (row: number) => {
    const id = names.idOf(row);
    const isTelling = !names.areIdsNumbers && id.length <= NAME;
    return shortened(isTelling ? id : (names.textOf(row) ?? id), NAME);
  };
  return [
    ...speedSection(report),
    ...distanceSections(report),
    ...groupSection(report, names),
    ...mapSection(report, nameOf),
    ...exampleSection(report, names),
  ];
}

function speedSection({ recall, curve, options }: IndexReport): string[] {
  if (!options.isTimed || (recall === null && curve === null)) return [];
  const sentences: string[] = [];
  if (recall !== null) {
    const { interval, queries, k, truth, queriesPerSecond, reached, wanted } = recall;
    const [low, high] = interval.map((bound) => fixed(bound, 3));
    sentences.push(
      `optimize measured a recall of ${fixed(recall.recall, 3)} (95 %: ${low} to ${high}) ` +
        `of the ${k} nearest by ${truth}, on ${counted(queries, 'row')} ` +
        `held out, at ${grouped(Math.round(queriesPerSecond))} queries a second; ` +
        `${plain(wanted)} was wanted${reached ? '' : ' and not reached'}. Since then ` +
        `${counted(recall.rowsAdded, 'row')} came and ${grouped(recall.rowsRemoved)} went.`,
    );
  }
  if (curve?.truth === 'cosine') {
    sentences.push(
      `Measured now: ${counted(curve.queries, 'row')} as queries, each held out of its own ` +
        'answer, against brute force over the kept vectors, one at a time; speeds by the median.',
    );
  } else if (curve !== null) {
    sentences.push(
      'No vectors are kept, so rows can only be searched for by their codes: exact by distance, ' +
        'and how much of what is near by cosine that finds can not be measured here. Measured ' +
        `now: ${grouped(Math.round(curve.points[0].queriesPerSecond))} queries a second, by the ` +
        `median of ${grouped(curve.queries)}.`,
    );
  }
  const hasSpeed = curve?.truth === 'cosine' || (recall !== null && recall.queriesPerSecond > 0);
  const drawn = hasSpeed
    ? [
        figure(
          speedChart(curve, recall),
          'Along a line ever more is looked at: partitions visited, or rows of a scan ' +
            're-ranked; hover over a dot for its setting.',
        ),
      ]
    : [];
  return [section('speed', 'Recall against speed', [paragraph(sentences.join(' ')), ...drawn])];
}

function distanceSections({
  tally,
  groups,
  sampled,
  rows,
  hasVectors,
  options,
}: IndexReport): string[] {
  if (tally === null) return [paragraph('One row can be compared with no other.')];
  const base =
    sampled === rows
      ? `All ${counted(rows, 'row')}`
      : `${grouped(sampled)} of ${counted(rows, 'row')}, drawn at random (seed ${options.seed})`;
  const nearest = {
    nearestName: 'nearest in the whole index',
    marked: groups?.maxDistance ?? null,
  };
  const cosines = hasVectors
    ? 'Exact cosines are those of the kept vectors.'
    : 'No vectors are kept, so this is what theory says of a pair at a distance.';
  return [
    section('distance', 'How far rows are from each other', [
      paragraph(`${base}: all ${counted(total(tally.pairs), 'pair')} of them.`),
      figure(
        distanceHistogram(tally, nearest),
        'The nearest of each of these rows is looked for among all rows, by distance.',
      ),
    ]),
    section('cosine', 'What a distance says of the cosine', [figure(cosineChart(tally), cosines)]),
  ];
}

function groupSection(report: IndexReport, names: RowNames): string[] {
  const { groups, calibrated, tally, options } = report;
  if (groups === null || calibrated === null || tally === null) return [];
  const { maxDistance, rows, isSample, dropped, largest, sizes } = groups;
  const why =
    options.maxDistance !== undefined
      ? 'as asked for'
      : calibrated.basis === 'measured'
        ? `which tells pairs at cosine ${options.minCosine} or more best in the sample: ` +
          `precision ${fixed(calibrated.at.precision)}, recall ${fixed(calibrated.at.recall)}`
        : `within which theory expects ${percent(calibrated.theoryRecall)} of the pairs at ` +
          `cosine ${options.minCosine}; ${
            report.hasVectors
              ? `the sample has fewer than ${ENOUGH_PAIRS} such pairs to measure by`
              : 'no vectors are kept to measure by'
          }`;
  const count = sizes.reduce((sum, one) => sum + (one.size > 1 ? one.groups : 0), 0);
  const sentences = [
    `Within ${maxDistance} of ${report.bits} bits, ${why}.`,
    `${isSample ? 'Of a sample of ' : 'Of '}${counted(rows, 'row')}, dedup would drop ` +
      `${grouped(dropped)}: there ${count === 1 ? 'is' : 'are'} ${counted(count, 'group')} ` +
      'of two or more.',
  ];
  if (largest !== null) {
    const some = Array.from(largest.rows.slice(0, 5), (row) => shortened(names.idOf(row), NAME));
    const more = largest.rows.length > some.length ? ' …' : '.';
    sentences.push(
      `The largest has ${counted(largest.rows.length, 'row')} at most ${largest.widest} apart: ` +
        `${some.join(', ')}${more}`,
    );
  }
  return [
    section('group', 'Rows that are nearly the same', [
      paragraph(sentences.join(' ')),
      figure(
        groupChart(groups),
        'Both scales go by powers of ten. Groups are stars, as dedup makes them.',
      ),
    ]),
  ];
}

function mapSection({ map }: IndexReport, nameOf: (row: number) => string): string[] {
  if (map === null) return [];
  const [x, y] = map.shares.map(percent);
  const by = map.by === 'vectors' ? 'the kept vectors' : 'the codes, a bit as +1 or −1';
  return [
    section('map', 'A map of clusters', [
      figure(
        mapChart(map, nameOf),
        `k-means on ${by}, mean cosine to the centroids ${fixed(map.objective)}. Across and up ` +
          `are the two directions in which the rows differ most: ${x} and ${y} of the variance; ` +
          'what is near here may be far in the others. Hover over a dot for its row.',
      ),
      table(
        ['medoid', number('rows'), number('mean cosine'), 'nearest to the centroid'],
        map.clusters.map(({ medoid, size, cohesion, exemplars }) => [
          nameOf(medoid),
          ...[grouped(size), fixed(cohesion)].map(number),
          Array.from(exemplars, nameOf).join(' · '),
        ]),
      ),
    ]),
  ];
}

function exampleSection({ examples }: IndexReport, names: RowNames): string[] {
  if (examples.length === 0) return [];
  const tables = examples.map((example) => exampleTable(example, names));
  return [section('nearest', 'Examples of nearest rows', tables)];
}

function exampleTable({ row, id, nearest, isExact }: Example, names: RowNames): string {
  const { column } = names;
  const textOf = (one: number) =>
    column === null ? [] : [shortened(names.textOf(one) ?? '', SNIPPET)];
  const cosine = isExact ? 'cosine' : 'cosine, estimated';
  return table(
    ['row', number('distance'), number(cosine), ...(column === null ? [] : [column])],
    [
      [String(id), number('itself'), number(''), ...textOf(row)],
      ...nearest.map((one) => [
        ...[String(one.id), number(String(one.distance)), number(fixed(one.cosine, 3))],
        ...textOf(one.row),
      ]),
    ],
  );
}

/** The same as data for machines. */
export function indexData(folder: FolderFacts, report: IndexReport | null): string {
  const facts = Object.fromEntries(folder.facts);
  return `${JSON.stringify({ ...folder, facts, report }, jsonOf, 2)}\n`;
}

/** Typed arrays as arrays, 64-bit ids as text, tallies as what they say. */
function jsonOf(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint32Array);
  if (!(value instanceof PairTally)) return value;
  const { bits, minCosine, pairs, near, nearest } = value;
  return { bits, minCosine, pairs, near, nearest, cosines: value.cosineSteps() };
}
