/**
 * Reads the footer of a Parquet file and checks what hyparquet takes on trust: every chunk lies in
 * the file, every row group has a chunk for each leaf of the schema, and counts fit each other.
 */

import type { ColumnMetaData, FileMetaData, SchemaElement } from 'hyparquet';
import type { ByteFile } from '../../table/arrow/batches';
import type { ChunkShape } from './pages';
import { Cursor, readStruct } from './thrift';

/** The values of a leaf in one row group, and where they lie in the file. */
export interface Chunk {
  readonly meta: ColumnMetaData;
  readonly shape: ChunkShape;
  readonly start: number;
  readonly byteCount: number;
}

/** A column of the top level: its part of the schema, and which of all leaves are its own. */
export interface ParquetColumn {
  readonly name: string;
  readonly elements: readonly SchemaElement[];
  readonly firstLeaf: number;
  readonly leafCount: number;
}

/** Rows that are stored together. */
export interface RowGroup {
  readonly rows: number;
  /** One for each leaf, in the order of the schema. */
  readonly chunks: readonly Chunk[];
}

/** The content of a footer. */
interface Footer {
  readonly columns: readonly ParquetColumn[];
  readonly groups: readonly RowGroup[];
  readonly rowCount: number;
}

/** Limits for damaged footers; those of real files are far below. */
const MAX_FOOTER_BYTES = 2 ** 26;
const MAX_DEPTH = 64;
/** Most leaves of a column, since hyparquet searches all of them for each. */
const MAX_LEAVES = 1000;
/** Row numbers have 32 bits. */
const MAX_ROWS = 2 ** 32;
const TAIL_BYTES = 8;

/** Reads and checks the footer; `parse` is the parser of the library. */
export async function readFooter(
  file: ByteFile,
  parse: (footer: Uint8Array) => FileMetaData,
): Promise<Footer> {
  if (file.byteCount < 4 + TAIL_BYTES) throw new Error('cut short');
  const tail = new Uint8Array(TAIL_BYTES);
  await file.readInto(tail, file.byteCount - TAIL_BYTES);
  if (Buffer.from(tail).toString('latin1', 4) !== 'PAR1') {
    throw new Error('cut short: a Parquet file ends with "PAR1"');
  }
  const length = new DataView(tail.buffer).getUint32(0, true);
  if (length > Math.min(MAX_FOOTER_BYTES, file.byteCount - 4 - TAIL_BYTES)) {
    throw new Error(`a footer of ${length} bytes cannot be`);
  }
  const end = file.byteCount - TAIL_BYTES - length;
  // The parser expects the footer with the length and the magic after it.
  const footer = new Uint8Array(length + TAIL_BYTES);
  await file.readInto(footer, end);
  // Checks all lengths in the footer before the library follows them.
  readStruct(new Cursor(footer.subarray(0, length)), 'check');
  const { schema, row_groups: groups } = parse(footer);
  const { columns, leaves } = columnsOf(schema);
  const checked = groups.map(({ num_rows, columns: chunks }) => {
    const rows = integer(num_rows, 'rows of a group', MAX_ROWS);
    if (chunks.length !== leaves.length) {
      throw new Error(`${chunks.length} chunks of ${leaves.length} columns`);
    }
    return {
      rows,
      chunks: chunks.map((chunk, i) => chunkOf(chunk.meta_data, leaves[i], { rows, end })),
    };
  });
  const rowCount = checked.reduce((sum, { rows }) => sum + rows, 0);
  // Without columns nothing in the file justifies rows.
  integer(rowCount, 'rows', columns.length > 0 ? MAX_ROWS : 0);
  return { columns, groups: checked, rowCount };
}

/** A count within 0..`most`; throws for anything else. */
function integer(value: unknown, what: string, most = Number.MAX_SAFE_INTEGER): number {
  const number = Number(value ?? Number.NaN);
  if (Number.isInteger(number) && number >= 0 && number <= most) return number;
  throw new Error(`${what} cannot be ${value ?? 'missing'}`);
}

/** A leaf of the schema, and how deeply its values are nested. */
interface Leaf {
  readonly path: string;
  readonly element: SchemaElement;
  readonly maxDefinition: number;
  readonly maxRepetition: number;
}

/** The columns and leaves of a schema, which lists parents before their children. */
function columnsOf(schema: readonly SchemaElement[]) {
  const leaves: Leaf[] = [];
  const columns: ParquetColumn[] = [];
  let at = 1;
  const walk = (above: readonly string[], definitions: number, repetitions: number): void => {
    const element = schema[at++];
    if (typeof element?.name !== 'string') throw new Error('a schema that is cut short');
    if (above.length > MAX_DEPTH) throw new Error('a schema nested too deep');
    const kind = element.repetition_type;
    // An optional or repeated element adds a definition level, a repeated one a repetition level.
    const maxDefinition = definitions + Number(kind !== 'REQUIRED');
    const maxRepetition = repetitions + Number(kind === 'REPEATED');
    const path = [...above, element.name];
    const children = integer(element.num_children ?? 0, 'parts of a column');
    if (children === 0) {
      leaves.push({ path: JSON.stringify(path), element, maxDefinition, maxRepetition });
    }
    for (let i = 0; i < children; i++) walk(path, maxDefinition, maxRepetition);
  };
  const names = new Set<string>();
  const count = integer(schema[0]?.num_children ?? 0, 'columns');
  for (let i = 0; i < count; i++) {
    const [first, firstLeaf] = [at, leaves.length];
    walk([], 0, 0);
    const elements = schema.slice(first, at);
    const { name } = elements[0];
    if (names.has(name)) throw new Error(`two columns are called "${name}"`);
    names.add(name);
    const leafCount = leaves.length - firstLeaf;
    if (leafCount > MAX_LEAVES) throw new Error(`column "${name}" has ${leafCount} parts`);
    columns.push({ name, elements, firstLeaf, leafCount });
  }
  return { columns, leaves };
}

/** A chunk, checked; it must end before the footer, which begins at `end`. */
function chunkOf(
  meta: ColumnMetaData | undefined,
  { path, element, maxDefinition, maxRepetition }: Leaf,
  { rows, end }: { rows: number; end: number },
): Chunk {
  if (meta === undefined || JSON.stringify(meta.path_in_schema) !== path) {
    throw new Error(`a chunk of ${path} is missing`);
  }
  const { type } = element;
  if (type === undefined || meta.type !== type)
    throw new Error(`${path} is of type ${type ?? 'none'}, its chunk of ${meta.type ?? 'none'}`);
  // A chunk begins with its dictionary, where it has one.
  const start = integer(meta.dictionary_page_offset || meta.data_page_offset, 'a place');
  const byteCount = integer(meta.total_compressed_size, 'bytes of a chunk', end - start);
  const values = integer(meta.num_values, 'values of a chunk');
  // Outside of lists a row has one value; in a list one or more, since an empty one counts.
  if (maxRepetition === 0 ? values !== rows : values < rows) {
    throw new Error(`${values} values of ${path} in ${rows} rows`);
  }
  const typeLength = integer(element.type_length ?? 0, 'bytes of a value');
  const shape = { type, typeLength, codec: meta.codec, values, maxDefinition, maxRepetition };
  return { meta, shape, start, byteCount };
}
