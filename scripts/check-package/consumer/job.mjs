// What a user of the package does, on any engine: vectors to codes, codes to Arrow and back, a scan.
// Every engine, module system and kernel must come to the same result.

const COUNT = 4096; // enough for the codes to live in a WebAssembly memory of their own
const DIMENSIONS = 24;

/** @param library the namespace of 'halfspace' */
export async function job(library) {
  const { SimHasher, codesFromArrow, codesToArrow, scan, scanAll } = library;
  const hasher = new SimHasher({
    bits: 256,
    seed: 7,
    projection: 'hadamard',
    dimensions: DIMENSIONS,
  });
  const ids = Array.from({ length: COUNT }, (_, row) => `row ${row}`);
  const made = await hasher.hashAll({
    values: numbers(COUNT * DIMENSIONS),
    dimensions: DIMENSIONS,
  });
  const bytes = codesToArrow(made, { ids });
  const read = codesFromArrow(bytes);
  expect(equal(read.codes.bytes, made.bytes), 'the codes came back from Arrow changed');
  expect(equal(read.ids, ids), 'the ids came back from Arrow changed');

  const queries = await hasher.hashAll({ values: numbers(3 * DIMENSIONS), dimensions: DIMENSIONS });
  const neighbors = await scanAll(read.codes, queries, { k: 5 });
  const near = scan(read.codes, queries.at(2), { maxDistance: 70 });
  expect(near.rows[0] === 2 && near.distances[0] === 0, 'a scan does not find the query itself');
  const sparse = new SimHasher({ bits: 64 }).hash({
    indices: [3, 17, 90210],
    values: [1.5, 0.2, 4],
  });
  return {
    sparse: hex(sparse),
    arrow: await sha256(bytes),
    neighbors: neighbors.map(plain),
    near: plain(near),
  };
}

/** The same over a file. @param node the namespace of 'halfspace/node' @param path of a new file */
export async function fileJob(library, node, path) {
  expect(node.SimHasher === library.SimHasher, 'the two doors have a library each');
  const hasher = new library.SimHasher({ bits: 64, seed: 9 });
  const made = await hasher.hashAll({ values: numbers(50 * DIMENSIONS), dimensions: DIMENSIONS });
  const output = await node.createRows(path);
  await output.write(node.RowBatch.of({ code: made }));
  await output.close();
  const batches = [];
  for await (const batch of await node.openRows(path)) batches.push(batch);
  const codes = batches[0].codes('code');
  expect(equal(codes.bytes, made.bytes), 'the codes came back from the file changed');
  return { codes: hex(codes.bytes), nearest: plain(library.scan(codes, made.at(0), { k: 3 })) };
}

/** Numbers in -1..1 by a linear congruence that is exact in float64. */
function numbers(count) {
  const values = new Float32Array(count);
  let state = 12345;
  for (let i = 0; i < count; i++) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 21;
    values[i] = state / 2 ** 20 - 1;
  }
  return values;
}

function plain({ rows, distances }) {
  return { rows: [...rows], distances: [...distances] };
}

function equal(a, b) {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

function expect(holds, otherwise) {
  if (!holds) throw new Error(otherwise);
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

async function sha256(bytes) {
  return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
}
