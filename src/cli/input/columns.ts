/**
 * Which column holds what: as told by an option, or the only candidate, or the one with a usual
 * name; a guess is said. Where there are several candidates the user is asked to choose.
 */

import type { ColumnInfo, RowReader } from '../../node';
import type { Call } from '../call';

/** What codes are made of: dense or sparse vectors, texts, or nothing, as they are codes. */
export type SourceKind = 'vector' | 'sparse' | 'text' | 'code';

/** Where the vectors come from: one column, or two of sparse ones. */
export interface SourceColumns {
  readonly kind: SourceKind;
  readonly columns: readonly string[];
}

/** Names by which a column is chosen among several candidates, the first that is there. */
const USUAL: Record<'code' | 'vector' | 'text', readonly string[]> = {
  code: ['code', 'codes', 'fingerprint', 'simhash'],
  vector: ['vector', 'embedding', 'embeddings', 'vectors'],
  text: ['text', 'body', 'content', 'document', 'description', 'sentence'],
};
const NOUNS = { code: 'codes', vector: 'vectors', text: 'texts' } as const;

/** The columns to make codes of, of the kinds that a verb takes. */
export function chooseSource(
  call: Call,
  reader: RowReader,
  kinds: readonly SourceKind[] = ['code', 'vector', 'sparse', 'text'],
): SourceColumns {
  const told = (['vector', 'text', 'code'] as const).filter((name) => call.has(name));
  if (told.length > 1) call.misuse(`give one of ${told.map((name) => `--${name}`).join(', ')}`);
  if (told.length === 1) return toldSource(call, reader, told[0]);
  for (const kind of ['code', 'vector', 'text'] as const) {
    if (kinds.includes(kind)) {
      const name = guess(call, reader, kind);
      if (name !== null) return sayGuess(call, { kind, columns: [name] });
    }
    if (kind === 'vector' && kinds.includes('sparse')) {
      const columns = sparseColumns(reader.columns);
      if (columns !== null) return sayGuess(call, { kind: 'sparse', columns });
    }
  }
  const names = reader.columns.map(({ name, type }) => `${name} (${type})`).join(', ');
  const nouns = (['vector', 'text', 'code'] as const).filter((kind) => kinds.includes(kind));
  const wanted = nouns.map((kind) => NOUNS[kind]).join(' or ');
  return call.fail(`${reader.file}: no column of ${wanted} among ${names || 'none'}`);
}

/** The columns that an option names, which must hold what it says. */
function toldSource(call: Call, reader: RowReader, kind: 'vector' | 'text' | 'code') {
  const columns = kind === 'vector' ? call.list(kind) : [call.text(kind) as string];
  const infos = columns.map((name) => columnOf(call, reader, name));
  if (columns.length > 2) call.misuse('--vector takes one column, or two: INDICES,VALUES');
  if (columns.length === 2) return { kind: 'sparse', columns } as const;
  if (kind === 'vector' && infos[0].fits.includes('map'))
    return { kind: 'sparse', columns } as const;
  if (!infos[0].fits.includes(kind)) {
    const { name, type } = infos[0];
    call.fail(`${reader.file}: column "${name}" is ${type}, which holds no ${NOUNS[kind]}`);
  }
  return { kind, columns } as const;
}

/** A column by its name; the error names the others. */
export function columnOf(call: Call, reader: RowReader, name: string): ColumnInfo {
  const found = reader.columns.find((column) => column.name === name);
  if (found !== undefined) return found;
  const names = reader.columns.map((column) => column.name).join(', ');
  return call.fail(`${reader.file}: no column "${name}", there are ${names || 'none'}`);
}

/** The only candidate, or the one with a usual name; null where there is none. */
function guess(call: Call, reader: RowReader, kind: 'code' | 'vector' | 'text'): string | null {
  const fitting = reader.columns.filter(({ fits }) => fits.includes(kind));
  const usual = USUAL[kind].find((name) => fitting.some((column) => column.name === name));
  if (usual !== undefined) return usual;
  const idName = call.text('id') ?? 'id';
  // Integers and lists may be codes, and are seldom.
  const likely = fitting.filter(({ name, fits }) => {
    if (kind === 'code') return !fits.includes('id') && !fits.includes('vector');
    return name !== idName;
  });
  if (likely.length <= 1) return likely[0]?.name ?? null;
  const names = likely.map(({ name }) => name).join(', ');
  return call.misuse(`${reader.file} has ${NOUNS[kind]} in ${names}: choose by --${kind} COLUMN`);
}

/** Columns "indices" and "values", or the only map; null where there are neither. */
function sparseColumns(columns: readonly ColumnInfo[]): readonly string[] | null {
  const named = (name: string, fit: 'indices' | 'values') =>
    columns.some((column) => column.name === name && column.fits.includes(fit));
  if (named('indices', 'indices') && named('values', 'values')) return ['indices', 'values'];
  const maps = columns.filter(({ fits }) => fits.includes('map'));
  return maps.length === 1 ? [maps[0].name] : null;
}

/** Says which columns were chosen, and how to choose others. */
function sayGuess(call: Call, source: SourceColumns): SourceColumns {
  const kind = source.kind === 'sparse' ? 'vector' : source.kind;
  const quoted = source.columns.map((name) => `"${name}"`);
  const noun = source.kind === 'sparse' ? 'sparse vectors' : NOUNS[kind];
  const columns = quoted.length === 1 ? `column ${quoted[0]}` : `columns ${quoted.join(' and ')}`;
  call.say(`reading ${noun} from ${columns}; --${kind} chooses another`);
  return source;
}

/** The column of the ids; null where rows go by their numbers. */
export function chooseId(call: Call, reader: RowReader): string | null {
  const told = call.text('id');
  if (told === undefined) {
    // Texts of a folder are known by the names of their files.
    const usual = reader.format === 'text' ? 'file' : 'id';
    const has = reader.columns.some(({ name, fits }) => name === usual && fits.includes('id'));
    return has ? usual : null;
  }
  const { name, type, fits } = columnOf(call, reader, told);
  if (!fits.includes('id')) {
    call.fail(`${reader.file}: column "${name}" is ${type}; ids are integers or strings`);
  }
  return name;
}
