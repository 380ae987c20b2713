/**
 * The part of `calibrate` that compares settings of dedup by what they find: edited copies that it
 * plants among texts, or with --pairs the pairs that the user has labelled. One half of the pairs
 * chooses thresholds and the best setting, the other judges (measure/contest.ts). The settings that
 * are compared are declared here.
 */

import { JACCARD, measureOf, NEAR_JACCARD } from '../../codes/measure';
import {
  type Contest,
  contest,
  type Half,
  type Setting,
  type Threshold,
} from '../../measure/contest';
import { labelledHalves } from '../../measure/labelled';
import { hasDirection } from '../../measure/measured-rows';
import { plantedHalves } from '../../measure/planted';
import { SimHasher } from '../../node';
import { isSparse, packVectors, type Vector } from '../../vectors/vectors';
import type { Call } from '../call';
import { badData } from '../errors';
import type { HashSource } from '../input/hash-source';
import { DEFAULT_BITS, hasherOptionsOf } from '../input/hasher-options';
import { type NamedLabel, readLabels } from '../input/labels';
import { checkMeasure, LEAST } from '../input/nearness';
import { sourceWords } from '../input/open-input';
import { type ReadRows, readRows, textsDrawn } from '../input/row-values';
import { textHasherOf, textHashersOf, textSettingsOf } from '../input/texts';
import { commandLine, similarityWords } from '../output/figures';
import { optionOf, outcomesFindings, type Truth } from '../output/outcome-tables';
import type { Findings } from '../output/parts';

/** Planted copies in each half, at most. */
const COPIES = 300;
/** Options in which the settings for texts differ: the user cannot give them too. */
const COMPARED = [
  ...[...LEAST, 'cosine-error', 'jaccard-error', 'bits', 'measure', 'projection'],
  ...['counting', 'tf-idf', 'frequencies', 'keywords'],
];

/** A setting to compare. */
interface Entry<Row> extends Setting<Row> {
  /** For people: `shingles:2, sets, 256 bits`. */
  readonly name: string;
  /** Words of the dedup command line that choose it; the threshold is not among them. */
  readonly words: readonly string[];
}

/** The rows to judge settings by. */
interface Task {
  readonly call: Call;
  readonly source: HashSource;
  readonly read: ReadRows;
  /** The pairs of --pairs; null if copies are planted. */
  readonly labels: readonly NamedLabel[] | null;
  readonly seed: number;
}

/**
 * Settings, and what they found. `entries` are parallel to `found.settings`: the default, then all
 * settings. `found` is null if one of the halves has no pair of rows that are the same.
 */
interface Outcome {
  readonly entries: readonly Pick<Entry<unknown>, 'name' | 'words'>[];
  readonly found: Contest | null;
}

/** Compares settings for the rows of a source, and recommends a command line of dedup. */
export async function outcomesOf(call: Call, source: HashSource): Promise<Findings> {
  const { kind, path } = source.choice;
  const isText = kind === 'text';
  refuseOptions(call, isText);
  if (path === '-') {
    call.misuse('calibrate by outcomes compares settings that read a file twice: name one, not -');
  }
  const file = call.text('pairs');
  const labels = file === undefined ? null : await readLabels(call, file);
  const seed = drawSeedOf(call);
  const wanted = new Set(labels?.flatMap(({ a, b }) => [a, b]));
  const read = await readRows(source, { count: call.number('sample') as number, seed }, wanted);
  const task: Task = { call, source, read, labels, seed };
  const { entries, found } = await (isText ? judgeTexts(task) : judgeVectors(task));
  const truth: Truth =
    file === undefined
      ? { kind: 'planted', edits: call.number('edits') as number }
      : { kind: 'labelled', file };
  const settings = entries.map(({ name, words }) => ({ name, words }));
  // The default needs no threshold on the command line of texts: dedup has the same one.
  const at = found?.recommended ?? 0;
  const threshold = found === null || (isText && at === 0) ? [] : optionOf(found.settings[at]);
  const command = dedupCommand(source, [...settings[at].words, ...threshold]);
  return outcomesFindings({
    ...{ file: source.reader.file, source: sourceWords(source.choice), seed, truth, settings },
    ...{ fileRows: read.fileRows, drawn: truth.kind === 'planted' ? read.drawn.length : null },
    ...{ contest: found, command: found && command },
  });
}

/** Refuses options that are compared here, and those that do not go with labels. */
function refuseOptions(call: Call, isText: boolean): void {
  const isLabelled = call.has('pairs');
  if (isLabelled && call.has('edits')) call.misuse('--edits plants copies, --pairs has labels');
  const refused = isText ? COMPARED : ['cosine-error', 'jaccard-error', 'edits'];
  call.refuse(refused, (name) =>
    isText
      ? `--${name} is what calibrate compares for texts: leave it out`
      : `--${name} does not go with --pairs: labels decide`,
  );
}

/** The seed of random draws: the low 32 bits of --seed, which may have 64. */
export function drawSeedOf(call: Call): number {
  const { seed } = hasherOptionsOf(call, undefined);
  return Number(BigInt.asUintN(32, BigInt(seed as bigint)));
}

/**
 * The command line by which dedup reads and hashes the rows of a source as this call does, with
 * further words for what was found here.
 */
export function dedupCommand({ call, choice }: HashSource, words: readonly string[]): string {
  const isText = choice.kind === 'text';
  const names = ['from', 'types', 'on-error', 'seed'];
  if (isText) names.push('normalize', 'stop-words');
  const given = names.filter((name) => call.has(name));
  return commandLine([
    ...['halfspace', 'dedup', choice.path as string],
    ...[isText ? '--text' : '--vector', choice.columns.join(',')],
    ...given.flatMap((name) => [`--${name}`, call.list(name).join(',')]),
    ...[...words, '-o', 'plan.jsonl'],
  ]);
}

/**
 * Compares the entries. The first one is judged twice: at the threshold `usual`, which is the
 * default of dedup and comes first in the outcome, and at the threshold of its best F1.
 */
async function judge<Row>(
  call: Call,
  entries: readonly Entry<Row>[],
  { halves, usual }: { readonly halves: readonly [Half<Row>, Half<Row>]; readonly usual: number },
): Promise<Outcome> {
  const isEmpty = halves.some(({ same }) => same.every((count) => count === 0));
  const found = isEmpty
    ? null
    : await call.long('comparing', (work) => contest(entries, halves, { usual, ...work }));
  const [first] = entries;
  return { entries: [{ ...first, name: `default: ${first.name}` }, ...entries], found };
}

/** Compares settings for texts: by labelled pairs, or by copies planted among the texts drawn. */
async function judgeTexts({ call, source, read, labels, seed }: Task): Promise<Outcome> {
  const { signal } = call;
  if (labels === null) {
    const share = call.number('edits') as number;
    const { fileRows } = read;
    const texts = textsDrawn(read);
    const options = { copies: COPIES, share, seed, fileRows, signal };
    const halves = await plantedHalves(texts, options);
    return judge(call, await textEntries(call, texts), { halves, usual: NEAR_JACCARD });
  }
  const names = numbersOf(labels, source, read);
  const texts = [...names.keys()].map((id) => String(read.named.get(id)?.value ?? ''));
  const entries = await textEntries(call, [...textsDrawn(read), ...texts]);
  const halves = halvesOf(call, { rows: texts, labels, names, seed });
  return judge(call, entries, { halves, usual: NEAR_JACCARD });
}

/** Compares settings for vectors by labelled pairs; fails where a row of one has no direction. */
function judgeVectors({ call, source, read, labels, seed }: Task): Promise<Outcome> {
  const names = numbersOf(labels ?? [], source, read);
  const rows = [...names.keys()].map((id) => {
    const { value = null, row = 0 } = read.named.get(id) ?? {};
    const isThere = source.named(0, () => hasDirection(value as Vector | null, row));
    if (isThere) return value as Vector;
    return call.fail(`${source.reader.file}: row ${row}, id "${id}" of a labelled pair, is null`);
  });
  const halves = halvesOf(call, { rows, labels: labels ?? [], names, seed });
  const { entries, usual } = vectorEntries(call, rows);
  return judge(call, entries, { halves, usual });
}

/**
 * Numbers the rows that labels name, from 0 in the order in which they are named. Exit code 3 where
 * the input has no row of such an id.
 */
function numbersOf(
  labels: readonly NamedLabel[],
  { call, reader, choice }: HashSource,
  { named }: ReadRows,
): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const { a, b } of labels) {
    for (const id of [a, b]) {
      if (!named.has(id)) {
        const where = choice.idColumn === null ? 'row' : `row with "${choice.idColumn}"`;
        const message =
          `${call.text('pairs')}: "${a}" and "${b}": ${reader.file} has no ${where} ${id}; ` +
          '--id chooses the column of the ids';
        throw badData(message);
      }
      if (!numbers.has(id)) numbers.set(id, numbers.size);
    }
  }
  return numbers;
}

/**
 * Divides labelled pairs by chance into the half that chooses and the half that judges. Exit code 3
 * where one of them has no pair of rows that are the same.
 */
function halvesOf<Row>(
  call: Call,
  {
    rows,
    labels,
    names,
    seed,
  }: {
    readonly rows: readonly Row[];
    readonly labels: readonly NamedLabel[];
    readonly names: ReadonlyMap<string, number>;
    readonly seed: number;
  },
): [Half<Row>, Half<Row>] {
  const halves = labelledHalves(
    rows,
    labels.map(({ a, b, isSame }) => {
      return { a: names.get(a) as number, b: names.get(b) as number, isSame };
    }),
    seed,
  );
  if (halves.every(({ same }) => same.some((count) => count > 0))) return halves;
  throw badData(
    `${call.text('pairs')}: expected two groups or more of rows that are the same, one to choose ` +
      'by and one to judge by',
  );
}

/** How a setting compares texts. */
interface TextSetting extends Pick<Setting<string>, 'by'> {
  /** A value of --tokens. */
  readonly tokens: string;
  /** As sets of tokens, by Jaccard similarity; or by cosine, with these weights of tokens. */
  readonly weights: 'sets' | 'TF-IDF' | 'log counts';
  readonly bits: number;
}

/** Widths of codes, in bits, of the settings for texts that go by distance. */
const WIDTHS = [64, 128, 256];
/** The tokens of dedup where no option says it. */
const USUAL_TOKENS = 'shingles:2';

/**
 * The settings that are compared for texts; the first is the default of dedup. Tokens that the user
 * gives, `own`, replace the usual ones: sets and weights are still compared.
 */
function textSettings(own: string | null): TextSetting[] {
  const ofSets = own === null ? [USUAL_TOKENS, 'words', 'characters:5'] : [own];
  const weighed = own === null ? ['words', USUAL_TOKENS] : [own];
  const bits = DEFAULT_BITS;
  const sets = { tokens: ofSets[0], weights: 'sets', bits, by: 'minJaccard' } as const;
  const tfIdf = { tokens: weighed[0], weights: 'TF-IDF', bits, by: 'minCosine' } as const;
  return [
    ...ofSets.map((tokens) => ({ ...sets, tokens })),
    ...weighed.map((tokens) => ({ ...tfIdf, tokens })),
    ...WIDTHS.map((width) => ({ ...sets, by: 'maxDistance' as const, bits: width })),
    ...WIDTHS.map((width) => ({ ...tfIdf, by: 'maxDistance' as const, bits: width })),
    { tokens: ofSets[0], weights: 'log counts', bits, by: 'maxDistance' },
  ];
}

/**
 * The settings for texts, each with the hasher that it compares by. TF-IDF takes its frequencies
 * from `texts`. A setting by distance compares codes alone; the others check pairs by vectors.
 */
async function textEntries(call: Call, texts: readonly string[]): Promise<Entry<string>[]> {
  const { seed } = hasherOptionsOf(call, undefined);
  const table = textSettings(call.has('tokens') ? (call.text('tokens') as string) : null);
  const entries: Entry<string>[] = [];
  for (const { tokens, weights, bits, by } of table) {
    const settings = { ...textSettingsOf(call), tokens };
    const isOfSets = weights === 'sets';
    const plain = await textHasherOf(call, { settings, frequencies: null });
    const frequencies = weights === 'TF-IDF' ? plain.fit(texts) : null;
    const projection = isOfSets ? 'minwise' : 'signs';
    const like = new SimHasher({ bits, seed, projection, zero: 'null' });
    const hasher = (await textHashersOf(call, { settings, frequencies }))(like);
    const isByDistance = by === 'maxDistance';
    const checked = isByDistance ? `${bits} bits` : 'checked';
    entries.push({
      name: `${tokens}, ${weights}, ${checked}`,
      words: [
        ...(tokens === USUAL_TOKENS ? [] : ['--tokens', tokens]),
        ...(weights === 'TF-IDF' ? ['--tf-idf'] : []),
        ...(isByDistance && isOfSets ? ['--measure', 'jaccard'] : []),
        ...(isByDistance ? ['--bits', String(bits)] : []),
      ],
      by,
      compare(rows) {
        const codes = hasher.hashAll(rows);
        if (isByDistance) return { codes };
        return { codes, vectors: packVectors(rows.map((text) => hasher.vectorize(text))) };
      },
    });
  }
  return entries;
}

/** Widths of codes, in bits, of the settings for vectors that go by distance. */
const VECTOR_WIDTHS = [64, 128, 256, 512, 1024];

/**
 * The settings for vectors: the exact similarity first, then distances of codes of each width, or
 * of --bits alone. `usual` is the threshold of the exact similarity that counts as the default.
 */
function vectorEntries(
  call: Call,
  rows: readonly Vector[],
): { readonly entries: Entry<Vector>[]; readonly usual: number } {
  const [first] = rows;
  const dimensions = isSparse(first) ? undefined : first.length;
  const { seed, projection } = hasherOptionsOf(call, dimensions);
  const measure = measureOf(projection);
  const least = checkMeasure(call, measure);
  const isOfSets = measure === JACCARD;
  if (isOfSets && dimensions !== undefined) {
    call.misuse(
      'sets are texts or sparse vectors, and these are dense: leave out --measure jaccard',
    );
  }
  const given = call.number('bits');
  const known = projection === 'direct' ? [64] : VECTOR_WIDTHS;
  const exact = `exact ${similarityWords(measure)}`;
  const setting = (bits: number, by: Threshold): Entry<Vector> => {
    const isByDistance = by === 'maxDistance';
    const hasher = new SimHasher({ bits, seed, projection, dimensions, zero: 'null' });
    return {
      ...{ name: isByDistance ? `${projection}, ${bits} bits` : exact, by },
      words: isByDistance ? ['--projection', String(projection), '--bits', String(bits)] : [],
      compare(some) {
        const matrix = packVectors(some);
        const codes = hasher.hashAll(matrix);
        return isByDistance ? { codes } : { codes, vectors: matrix };
      },
    };
  };
  const widths = given === undefined ? known : [given];
  return {
    entries: [
      // Labelled pairs have exact similarities; codes only show which rows have a direction.
      setting(known[0], isOfSets ? 'minJaccard' : 'minCosine'),
      ...widths.map((bits) => setting(bits, 'maxDistance')),
    ],
    usual: call.number(least) ?? NEAR_JACCARD,
  };
}
