/**
 * The figures of an index (measure/measure-index.ts) as the sections of a page, and as data: what
 * it is, whether it is sound, recall against speed, distances, groups, memory. A section is left
 * out where there are no figures for it.
 */

import type { HealthAnswer, Section } from '../../explorer/messages';
import { ENOUGH_PAIRS } from '../../measure/calibrate';
import { type Measured, type MeasureOptions, measureIndex } from '../../measure/measure-index';
import { PairTally, total } from '../../measure/pair-tally';
import type { SpeedCurve } from '../../measure/speed-curve';
import { estimateJaccard, IndexFolder, type RecallReport } from '../../node';
import type { Call } from '../call';
import { type Fact, folderFacts } from '../input/index-folder';
import {
  bytesText,
  counted,
  drawnWords,
  excerpt,
  fixed,
  grouped,
  percent,
  plain,
  similarityWords,
} from '../output/figures';
import { costWords, coverageWords, recallWords } from '../output/recall-words';
import { jsonOf } from '../output/table';
import {
  distanceChart,
  groupChart,
  isChosen,
  partitionChart,
  recallChart,
  setChart,
  similarityChart,
  thresholdChart,
} from './charts';
import type { Explored } from './explored';

/** Characters of a row's name in a list, at most. */
const NAME = 28;
/** What `explore` measures; `report` has options for it. */
const OPTIONS: MeasureOptions = { sample: 2000, seed: 0, minCosine: 0.9, isTimed: true };

/** What is known of an index folder before anything is measured. */
export interface FolderState {
  readonly path: string;
  /** What the manifest says, for people. */
  readonly facts: readonly Fact[];
  readonly files: readonly { name: string; kind: string; rows: number; size: string }[];
  /** Damage, by file; empty for a sound folder. */
  readonly problems: readonly { file: string; message: string }[];
}

/** Lists the facts and files of a folder, and reads all of it to find damage. */
export async function folderState(call: Call, folder: IndexFolder): Promise<FolderState> {
  const { path, files } = folder;
  const { problems } = await call.long('verifying', (work) => IndexFolder.verify(path, work));
  return {
    ...{ path, problems, facts: folderFacts(folder) },
    files: files.map(({ name, kind, rows, bytes }) => {
      return { name, kind, rows, size: bytesText(bytes) };
    }),
  };
}

/** Verifies the folder, if there is one, and measures the index: takes a while. */
export async function healthOf(call: Call, explored: Explored): Promise<HealthAnswer> {
  const folder = explored.folder && (await folderState(call, explored.folder));
  const { index } = explored;
  const measured = await measureIndex(index, OPTIONS, call.long);
  return healthAnswer(folder, measured, (row) => String(index.idOf(row)));
}

/**
 * The figures as the page takes them. `folder` is null for an index of a file, `measured` is null
 * for a damaged folder, which is not measured. `nameOf` gives the name of a row.
 */
export function healthAnswer(
  folder: FolderState | null,
  measured: Measured | null,
  nameOf: (row: number) => string,
): HealthAnswer {
  const { tally, calibrated, options } = measured ?? {};
  // Precision and recall of distances are known only where exact similarities are.
  const isMeasured = tally && calibrated && measured?.hasVectors === true;
  return {
    sections: [
      ...(folder === null ? [] : folderSections(folder)),
      ...(measured === null ? [] : measuredSections(measured, nameOf)),
    ],
    thresholds: (isMeasured ? tally.thresholds() : []).map(({ maxDistance, precision, recall }) => {
      return { maxDistance, precision, recall };
    }),
    sets: wellMeasured(measured?.sets),
    recommended: calibrated?.maxDistance ?? null,
    minCosine: options?.minCosine ?? OPTIONS.minCosine,
  };
}

/** Whether the folder is sound, what it is, and its files. */
function folderSections({ facts, files, problems }: FolderState): Section[] {
  const sound = `Sound: every checksum and invariant of ${counted(files.length, 'file')} holds.`;
  const isSound = problems.length === 0;
  return [
    {
      ...{ name: 'health', heading: 'Health', tone: isSound ? 'good' : 'bad' },
      sentences: [isSound ? sound : `Damaged: ${counted(problems.length, 'problem')} found.`],
      ...(!isSound && {
        table: {
          head: ['file', 'problem'],
          rows: problems.map(({ file, message }) => [file, message]),
        },
      }),
    },
    {
      ...{ name: 'about', heading: 'What it is', sentences: [] },
      table: { head: ['property', 'value'], rows: facts.map(([name, value]) => [name, value]) },
    },
    {
      ...{ name: 'files', heading: 'Files' },
      sentences: [
        `Rows are in ${counted(files.filter(({ kind }) => kind === 'rows').length, 'segment')}.`,
      ],
      table: {
        head: ['file', 'holds', 'rows', 'size'],
        rows: files.map(({ name, kind, rows, size }) => [name, kind, grouped(rows), size]),
      },
    },
  ];
}

/** The sections of all that was measured; of an index without rows one that says so. */
function measuredSections(measured: Measured, nameOf: (row: number) => string): Section[] {
  if (measured.rows === 0) {
    const sentences = ['The index has no rows: there is nothing to measure.'];
    return [{ name: 'empty', heading: 'No rows', sentences }];
  }
  return [
    ...speedSection(measured),
    ...distanceSections(measured),
    ...groupSection(measured, nameOf),
    ...partitionSection(measured),
    {
      ...{
        name: 'memory',
        heading: 'Memory',
        sentences: ['What the rows take while they are open.'],
      },
      table: {
        head: ['part', 'bytes'],
        rows: Object.entries(measured.bytes).map(([name, bytes]) => [name, bytesText(bytes)]),
      },
    },
  ];
}

/**
 * Recall against speed, and against bytes read: as `optimize` measured it, and as it is now. Empty
 * where searches are not timed, or were never measured.
 */
function speedSection({ recall, curve, options }: Measured): Section[] {
  if (!options.isTimed || (recall === null && curve === null)) return [];
  const sentences: string[] = [];
  if (recall !== null) {
    const { queriesPerSecond, reached, wanted } = recall;
    const cost = costWords(recall);
    sentences.push(
      `By evaluation queries, searches find ${recallWords(recall)}, ` +
        `at ${grouped(Math.round(queriesPerSecond))} queries a second; ${coverageWords(recall)}; ` +
        `${plain(wanted)} was wanted${reached ? '' : ' and not reached'}. Since then ` +
        `${counted(recall.rowsAdded, 'row')} came and ${grouped(recall.rowsRemoved)} went` +
        `${recall.stale ? ', more than a tenth: measure again by index.remeasure()' : ''}.` +
        `${cost === null ? '' : ` In files, ${cost}.`}`,
      ...recall.warnings.map((warning) => `Note: ${warning}.`),
    );
  }
  if (curve?.truth === 'cosine') {
    sentences.push(
      `Measured now: ${counted(curve.queries, 'row')} as queries, each held out of its own ` +
        'answer, against brute force over the held vectors, one at a time; speeds by the median.',
    );
  } else if (curve !== null) {
    sentences.push(
      'No vectors are held, so rows can only be searched for by their codes: exact by distance, ' +
        'and how much of what is near by cosine that finds can not be measured here. Measured ' +
        `now: ${grouped(Math.round(curve.points[0].queriesPerSecond))} queries a second, by the ` +
        `median of ${grouped(curve.queries)}.`,
    );
  }
  const isMeasured = curve?.truth === 'cosine';
  // A curve whose truth is distance says nothing of recall by cosine, and is not drawn alone.
  const isDrawn = isMeasured || (recall !== null && recall.queriesPerSecond > 0);
  const speed: Section = {
    ...{ name: 'speed', heading: 'Recall against speed', sentences },
    ...(isDrawn && { chart: recallChart(curve, recall, 'queriesPerSecond') }),
    ...(isMeasured && { table: settingsTable(curve, recall) }),
  };
  if (!isMeasured) return [speed];
  const read = 'Codes or residual codes, centroids, and the vectors that are re-ranked.';
  const bytes = { name: 'bytes', heading: 'Recall against bytes', sentences: [read] };
  return [speed, { ...bytes, chart: recallChart(curve, recall, 'bytes') }];
}

/** How evenly the distinct codes lie in partitions; empty without partitions. */
function partitionSection({ partitions }: Measured): Section[] {
  if (partitions.length === 0) return [];
  const sizes = [...partitions].sort((a, b) => a - b);
  // The size below which a share of the partitions lies.
  const at = (share: number) => grouped(sizes[Math.floor(share * (sizes.length - 1))]);
  const sentence =
    `${counted(sizes.length, 'partition')} of ${at(0)} to ${at(1)} distinct codes, half of them ` +
    `of ${at(0.25)} to ${at(0.75)}. A search visits those that are nearest to its query.`;
  const heading = 'Sizes of partitions';
  return [{ name: 'partition', heading, sentences: [sentence], chart: partitionChart(sizes) }];
}

/** The points of the curve as a table: the setting of each, what it finds and costs. */
function settingsTable({ points }: SpeedCurve, report: RecallReport | null) {
  return {
    head: [
      ...['method', 'partitions visited', 're-ranked of each k', 'recall'],
      ...['queries a second', 'bytes a query', 'chosen'],
    ],
    rows: points.map((point) => [
      ...(point.probes === null ? ['scan', 'all'] : ['partitions', grouped(point.probes)]),
      point.oversample === null ? '–' : plain(point.oversample),
      ...[fixed(point.recall, 3), grouped(Math.round(point.queriesPerSecond))],
      ...[grouped(Math.round(point.bytes)), isChosen(point, report) ? 'yes' : ''],
    ]),
  };
}

/** Distances of a sample, and the similarities that they stand for; needs two rows. */
function distanceSections(measured: Measured): Section[] {
  const { tally, groups, sampled, rows, options, sets } = measured;
  if (tally === null) {
    const sentences = ['One row can be compared with no other.'];
    return [{ name: 'distance', heading: 'Distances', sentences }];
  }
  const base = drawnWords(sampled, rows, options.seed);
  const marked = groups?.maxDistance ?? null; // where groups end, shown in the histogram
  return [
    {
      ...{ name: 'distance', heading: 'How far rows are from each other' },
      sentences: [
        `${base}: all ${counted(total(tally.pairs), 'pair')} of them. ` +
          'The nearest of each of these rows is looked for among all rows, by distance.',
      ],
      chart: distanceChart(tally, { nearestName: 'nearest of each row', marked }),
    },
    ...(measured.isOfSets ? setSection(sets) : cosineSections(tally, measured)),
  ];
}

/** Cosines by distance, measured or by theory; with vectors also what each distance finds. */
function cosineSections(tally: PairTally, { hasVectors, calibrated }: Measured): Section[] {
  return [
    {
      ...{ name: 'cosine', heading: 'What a distance says of the cosine' },
      sentences: [
        hasVectors
          ? 'Exact cosines are those of the held vectors.'
          : 'No vectors are held, so this is what theory says of a pair at a distance.',
      ],
      chart: similarityChart(tally),
    },
    ...(hasVectors && calibrated !== null ? [thresholdSection(tally, calibrated.maxDistance)] : []),
  ];
}

/** Leaves out similarities that too few pairs of the sample reach for a share to be measured. */
const wellMeasured = (sets: Measured['sets'] = null) =>
  (sets ?? []).filter(({ pairs }) => pairs >= ENOUGH_PAIRS);

/** The share of similar sets that a plan finds. */
function setSection(sets: Measured['sets']): Section[] {
  const enough = wellMeasured(sets);
  if (enough.length === 0) return [];
  return [
    {
      ...{ name: 'sets', heading: 'Which pairs a plan finds, by their Jaccard similarity' },
      sentences: [
        'Of the pairs of the sample at a similarity or more, the share that a plan finds. Each ' +
          'pair is checked exactly, so that none is found wrongly: precision is 100 %.',
      ],
      chart: setChart(enough),
    },
  ];
}

/** What each distance finds of the near pairs of a sample; one distance is marked. */
export function thresholdSection(tally: PairTally, marked: number): Section {
  const least = leastWords(tally);
  return {
    ...{ name: 'threshold', heading: `Which distance finds pairs at ${least} or more` },
    sentences: [
      'Precision: of the pairs within the distance, the share that is near. Recall: of the near ' +
        'pairs, the share within it.',
    ],
    chart: thresholdChart(tally, { least, marked }),
  };
}

/** The similarity from which pairs are near: `cosine 0.9`. */
export function leastWords({ measure, minSimilarity }: PairTally): string {
  return `${similarityWords(measure)} ${minSimilarity}`;
}

/** Words that say why rows within the distance of the groups count as near. */
function reasonOf({ calibrated, hasVectors, options, groups, bits, isOfSets }: Measured): string {
  if (isOfSets && groups !== null) {
    const { estimatedJaccard } = estimateJaccard(groups.maxDistance, bits);
    return `where codes estimate a Jaccard similarity of ${fixed(estimatedJaccard, 2)} or more`;
  }
  const { maxDistance, minCosine } = options;
  if (maxDistance !== undefined || calibrated === null) return 'as asked for';
  const { basis, at, theoryRecall } = calibrated;
  if (basis === 'measured') {
    return (
      `which has the best F1 for pairs at cosine ${minCosine} or more of the sample: ` +
      `precision ${fixed(at.precision)}, recall ${fixed(at.recall)}`
    );
  }
  const why = hasVectors
    ? `the sample has fewer than ${ENOUGH_PAIRS} such pairs to measure by`
    : 'no vectors are held to measure by';
  const share = percent(theoryRecall);
  return `within which theory expects ${share} of the pairs at cosine ${minCosine}; ${why}`;
}

/** How many rows are nearly the same as others, in groups of which sizes; needs two rows. */
function groupSection(measured: Measured, nameOf: (row: number) => string): Section[] {
  const { groups } = measured;
  if (groups === null) return [];
  const { maxDistance, rows, isSample, dropped, largest, sizes } = groups;
  const count = sizes.reduce((sum, one) => sum + (one.size > 1 ? one.groups : 0), 0);
  const sentences = [
    `Within ${maxDistance} of ${measured.bits} bits, ${reasonOf(measured)}.`,
    `${isSample ? 'Of a sample of ' : 'Of '}${counted(rows, 'row')}, dedup would drop ` +
      `${grouped(dropped)}: there ${count === 1 ? 'is' : 'are'} ${counted(count, 'group')} ` +
      'of two or more.',
  ];
  if (largest !== null) {
    const some = Array.from(largest.rows.slice(0, 5), (row) => excerpt(nameOf(row), NAME));
    const more = largest.rows.length > some.length ? ' …' : '.';
    sentences.push(
      `The largest has ${counted(largest.rows.length, 'row')} at most ${largest.widest} apart: ` +
        `${some.join(', ')}${more}`,
    );
  }
  const heading = 'Rows that are nearly the same';
  return [{ name: 'group', heading, sentences, chart: groupChart(groups) }];
}

/** The figures as JSON, for `report -o NAME.json`; `report` in it is null for a damaged folder. */
export function healthData(folder: FolderState, report: Measured | null): string {
  const facts = Object.fromEntries(folder.facts);
  return `${JSON.stringify({ ...folder, facts, report }, shown, 2)}\n`;
}

/** A replacer as `jsonOf`, for which a tally, which has private fields, gives its figures. */
function shown(key: string, value: unknown): unknown {
  if (!(value instanceof PairTally)) return jsonOf(key, value);
  const { bits, measure, minSimilarity, pairs, near, nearest } = value;
  const similarities = value.similaritySteps();
  return { bits, measure, minSimilarity, pairs, near, nearest, similarities };
}
