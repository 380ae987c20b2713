/**
 * The report of an index as a page, and as data. A section is there where its figures are: each
 * function below makes one, of what was measured.
 */

import { basename } from 'node:path';
import { ENOUGH_PAIRS } from '../../measure/calibrate';
import { PairTally, total } from '../../measure/pair-tally';
import { counted, excerpt, fixed, grouped, percent, plain } from '../output/figures';
import { coverageWords, recallWords } from '../output/recall';
import { jsonOf } from '../output/table';
import { cosineChart, distanceHistogram, groupChart, mapChart, speedChart } from './charts';
import type { Example, FolderState, IndexReport, RowNames } from './index-report';
import { figure, numbers, page, paragraph, section, table } from './page';

/** Most characters of a row's text, and of its name. */
const SNIPPET = 160;
const NAME = 28;

/** The whole page. Without a report and names, the folder is damaged: its problems say why. */
export function indexPage(
  folder: FolderState,
  report: IndexReport | null,
  names: RowNames | null,
): string {
  const { path, facts, files, problems } = folder;
  const rows = files.map(({ name, kind, rows, size }) => {
    return [name, kind, ...numbers(grouped(rows), size)];
  });
  const sound = `Sound: every checksum and invariant of ${counted(files.length, 'file')} holds.`;
  const health =
    problems.length === 0
      ? [paragraph(sound, 'good')]
      : [
          paragraph(`Damaged: ${counted(problems.length, 'problem')} found.`, 'bad'),
          table(
            ['file', 'problem'],
            problems.map(({ file, message }) => [file, message]),
          ),
        ];
  return page(`Index ${basename(path)}`, [
    section('about', 'What it is', [
      table([], facts),
      table(['file', 'holds', ...numbers('rows', 'size')], rows),
    ]),
    section('health', 'Health', health),
    ...(report === null || names === null ? [] : measured(report, names)),
  ]);
}

/** The sections of what was measured, of those that there are. */
function measured(report: IndexReport, names: RowNames): string[] {
  if (report.rows === 0) return [paragraph('The index has no rows: there is nothing to measure.')];
  const nameOf = (row: number) => {
    const id = names.idOf(row);
    const isTelling = !names.areIdsNumbers && id.length <= NAME;
    return excerpt(isTelling ? id : (names.textOf(row) ?? id), NAME);
  };
  return [
    ...speedSection(report),
    ...distanceSections(report),
    ...groupSection(report, names),
    ...mapSection(report, nameOf),
    ...exampleSection(report, names),
  ];
}

/** What `optimize` measured, and what is measured now; nothing with --no-times. */
function speedSection({ recall, curve, options }: IndexReport): string[] {
  if (!options.isTimed || (recall === null && curve === null)) return [];
  const sentences: string[] = [];
  if (recall !== null) {
    const { queriesPerSecond, reached, wanted } = recall;
    sentences.push(
      `optimize measured that searches find ${recallWords(recall)}, ` +
        `at ${grouped(Math.round(queriesPerSecond))} queries a second; ${coverageWords(recall)}; ` +
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
  const content = [paragraph(sentences.join(' '))];
  if (curve?.truth === 'cosine' || (recall !== null && recall.queriesPerSecond > 0)) {
    const caption =
      'Along a line ever more is looked at: partitions visited, or rows of a scan re-ranked; ' +
      'hover over a dot for its setting.';
    content.push(figure(speedChart(curve, recall), caption));
  }
  return [section('speed', 'Recall against speed', content)];
}

/** How distances spread, and which cosines they stand for. */
function distanceSections(report: IndexReport): string[] {
  const { tally, groups, sampled, rows, hasVectors, options } = report;
  if (tally === null) return [paragraph('One row can be compared with no other.')];
  const base =
    sampled === rows
      ? `All ${counted(rows, 'row')}`
      : `${grouped(sampled)} of ${counted(rows, 'row')}, drawn at random (seed ${options.seed})`;
  const marked = groups?.maxDistance ?? null;
  const histogram = distanceHistogram(tally, { nearestName: 'nearest in the whole index', marked });
  const cosines = hasVectors
    ? 'Exact cosines are those of the kept vectors.'
    : 'No vectors are kept, so this is what theory says of a pair at a distance.';
  return [
    section('distance', 'How far rows are from each other', [
      paragraph(`${base}: all ${counted(total(tally.pairs), 'pair')} of them.`),
      figure(
        histogram,
        'The nearest of each of these rows is looked for among all rows, by distance.',
      ),
    ]),
    section('cosine', 'What a distance says of the cosine', [figure(cosineChart(tally), cosines)]),
  ];
}

/** Why rows within the distance of the groups count as near. */
function reasonOf({ calibrated, hasVectors, options }: IndexReport): string {
  const { maxDistance, minCosine } = options;
  if (maxDistance !== undefined || calibrated === null) return 'as asked for';
  const { basis, at, theoryRecall } = calibrated;
  if (basis === 'measured') {
    return (
      `which tells pairs at cosine ${minCosine} or more best in the sample: ` +
      `precision ${fixed(at.precision)}, recall ${fixed(at.recall)}`
    );
  }
  const why = hasVectors
    ? `the sample has fewer than ${ENOUGH_PAIRS} such pairs to measure by`
    : 'no vectors are kept to measure by';
  const share = percent(theoryRecall);
  return `within which theory expects ${share} of the pairs at cosine ${minCosine}; ${why}`;
}

/** How many rows are nearly the same, and why within that distance. */
function groupSection(report: IndexReport, names: RowNames): string[] {
  const { groups } = report;
  if (groups === null) return [];
  const { maxDistance, rows, isSample, dropped, largest, sizes } = groups;
  const count = sizes.reduce((sum, one) => sum + (one.size > 1 ? one.groups : 0), 0);
  const sentences = [
    `Within ${maxDistance} of ${report.bits} bits, ${reasonOf(report)}.`,
    `${isSample ? 'Of a sample of ' : 'Of '}${counted(rows, 'row')}, dedup would drop ` +
      `${grouped(dropped)}: there ${count === 1 ? 'is' : 'are'} ${counted(count, 'group')} ` +
      'of two or more.',
  ];
  if (largest !== null) {
    const some = Array.from(largest.rows.slice(0, 5), (row) => excerpt(names.idOf(row), NAME));
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

/** Rows on a plane, and a line for each cluster. */
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
        ['medoid', ...numbers('rows', 'mean cosine'), 'nearest to the centroid'],
        map.clusters.map(({ medoid, size, cohesion, exemplars }) => [
          nameOf(medoid),
          ...numbers(grouped(size), fixed(cohesion)),
          Array.from(exemplars, nameOf).join(' · '),
        ]),
      ),
    ]),
  ];
}

/** For medoids of clusters, what a search finds. */
function exampleSection({ examples }: IndexReport, names: RowNames): string[] {
  if (examples.length === 0) return [];
  const tables = examples.map((example) => exampleTable(example, names));
  return [section('nearest', 'Examples of nearest rows', tables)];
}

/** A row and the rows nearest to it, with their texts where a column of texts is carried. */
function exampleTable(
  { row, id, nearest, isExact }: Example,
  { column, textOf }: RowNames,
): string {
  const snippet = (one: number) => (column === null ? [] : [excerpt(textOf(one) ?? '', SNIPPET)]);
  const cosine = isExact ? 'cosine' : 'cosine, estimated';
  return table(
    ['row', ...numbers('distance', cosine), ...(column === null ? [] : [column])],
    [
      [String(id), ...numbers('itself', ''), ...snippet(row)],
      ...nearest.map((one) => [
        ...[String(one.id), ...numbers(String(one.distance), fixed(one.cosine, 3))],
        ...snippet(one.row),
      ]),
    ],
  );
}

/** The report as JSON for machines. */
export function indexData(folder: FolderState, report: IndexReport | null): string {
  const facts = Object.fromEntries(folder.facts);
  return `${JSON.stringify({ ...folder, facts, report }, shown, 2)}\n`;
}

/** As `jsonOf`; tallies as what they say. */
function shown(key: string, value: unknown): unknown {
  if (!(value instanceof PairTally)) return jsonOf(key, value);
  const { bits, minCosine, pairs, near, nearest } = value;
  return { bits, minCosine, pairs, near, nearest, cosines: value.cosineSteps() };
}
