// What does it cost to read 1,000,000 codes of 32 bytes from an Arrow file in memory, and to write one?
// Compared with apache-arrow as its documentation shows it (`get`), and by its chunks; PyArrow.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tableFromIPC } from 'apache-arrow';
import { codesFromArrow, codesToArrow } from '../dist/index.js';
import { answer, inChild, peak, request, resetPeak, resident } from './lib/child.mjs';
import { openPython } from './lib/python.mjs';
import { uniformCodes } from './lib/random.mjs';
import { announce, mark, mustHold, printTable, short, span, times } from './lib/table.mjs';
import { race, timed } from './lib/timing.mjs';

const SCRIPT = fileURLToPath(import.meta.url);
const ROWS = 1_000_000;
const WIDTH = 32;
const CODE_BYTES = ROWS * WIDTH;
const READERS = {
  'halfspace codesFromArrow': (file) => codesFromArrow(file).codes.bytes,
  'apache-arrow, get(row)': (file) => {
    const column = tableFromIPC(file).getChild('code');
    const bytes = new Uint8Array(CODE_BYTES);
    for (let row = 0; row < ROWS; row++) bytes.set(column.get(row), row * WIDTH);
    return bytes;
  },
  'apache-arrow, values of chunks': (file) => {
    const bytes = new Uint8Array(CODE_BYTES);
    let at = 0;
    for (const { values } of tableFromIPC(file).getChild('code').data) {
      bytes.set(values, at);
      at += values.length;
    }
    return bytes;
  },
};

/** In a child: what one reading adds to memory, at its peak and for good, in multiples of the codes. */
function measure({ reader, path }) {
  const file = readFileSync(path);
  const before = resident();
  resetPeak();
  const codes = READERS[reader](file);
  const most = (peak() - before) / CODE_BYTES;
  const kept = (resident() - before) / CODE_BYTES;
  return { sum: sumOf(codes), most, kept };
}

function sumOf(bytes) {
  let sum = 0;
  for (let i = 0; i < bytes.length; i++) sum += bytes[i];
  return sum;
}

async function main() {
  const python = await openPython();
  await announce(python);
  const codes = uniformCodes(ROWS, 8 * WIDTH, 7);
  const file = codesToArrow(codes);
  const sum = sumOf(codes.bytes);
  const contestants = Object.entries(READERS).map(([name, read]) => {
    mustHold(Buffer.from(read(file)).equals(codes.bytes), name);
    return { name, run: timed(() => read(file)), isSlow: name.includes('get') };
  });
  if (python) {
    await python.ask('arrow', { file });
    mustHold((await python.ask('read_arrow')).sum === sum, 'pyarrow');
    const run = async () => (await python.ask('read_arrow')).ms;
    contestants.push({ name: 'PyArrow to one NumPy array', run });
  }
  contestants.push({ name: 'writing: codesToArrow', run: timed(() => codesToArrow(codes)) });

  const folder = mkdtempSync(join(tmpdir(), 'halfspace-bench-'));
  const path = join(folder, 'codes.arrow');
  writeFileSync(path, file);
  const rows = [];
  const results = await race(contestants);
  const [ours] = results;
  for (const result of results) {
    const { name, ms } = result;
    const spent = { most: Number.NaN, kept: Number.NaN };
    if (READERS[name]) Object.assign(spent, inChild(SCRIPT, { reader: name, path }));
    mustHold(spent.sum === undefined || spent.sum === sum, `${name} in a child`);
    Object.assign(result, spent);
    const ratios = [times(spent.most), times(spent.kept), times(ms / ours.ms)];
    rows.push([name, short(ms), span(result), short(CODE_BYTES / ms / 1e6), ...ratios]);
  }
  rmSync(folder, { recursive: true });
  printTable(
    `${short(ROWS)} codes of ${WIDTH} bytes in an Arrow file in memory, ${short(file.length)} bytes`,
    ['method', 'ms', 'p10..p90', 'GB/s', 'memory added at peak', 'kept', 'this / ours'],
    rows,
  );
  console.log(
    '\nMemory is rss added in a fresh process, in multiples of the codes; ours verifies the file.',
  );
  mark('ms to read', ours.ms, { most: 50 });
  mark('memory added at peak, in multiples of the codes', ours.most, { most: 1.3 });
  python?.close();
}

const asked = request();
if (asked === undefined) await main();
else answer(measure(asked));
