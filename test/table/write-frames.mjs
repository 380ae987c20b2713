// Writes frames.json: frames by the `lz4` and `zstd` commands (Debian: lz4 1.9.4, zstd 1.5.4) over
// contents made here, and of each content its length and SHA-256. Run: node test/codes/write-frames.mjs
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let state = 1;
/** Bits 16 to 31 of a linear congruence, which are random enough for a compressor. */
function random() {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state >>> 16;
}

const noise = (length) => Buffer.from(Array.from({ length }, () => random() & 255));
const skewed = (length) => {
  const letters = 'eeeeeeeetttttaaaoooiinnshrdlu ';
  return Buffer.from(Array.from({ length }, () => letters.charCodeAt(random() % letters.length)));
};
const zeros = (length) => Buffer.alloc(length);
const repeated = (part, length) => Buffer.alloc(length, part);
const integers = (count) => Buffer.from(Int32Array.from({ length: count }, (_, i) => 3 * i).buffer);

const folder = mkdtempSync(join(tmpdir(), 'frames-'));
const dictionary = join(folder, 'dictionary');
writeFileSync(dictionary, skewed(4096));

/** `piped` contents come without their length. */
const wanted = [
  ['lz4', 'nothing', zeros(0), []],
  ['lz4', 'one byte', Buffer.from('a'), []],
  ['lz4', 'noise, a stored block', noise(200), []],
  ['lz4', 'zeros, a match that overlaps itself', zeros(100_000), []],
  ['lz4', 'a period of 3', repeated('abc', 5000), ['-9']],
  ['lz4', 'text', skewed(600), ['-9']],
  [
    'lz4',
    '300 literals, of which 15 + 255 are told in three bytes',
    Buffer.concat([noise(300), zeros(300)]),
    [],
  ],
  ['lz4', 'integers', integers(200), []],
  ['lz4', 'several blocks', repeated(noise(100), 140_000), ['-B4']],
  ['lz4', 'several blocks that refer to each other', repeated(noise(100), 140_000), ['-B4', '-BD']],
  ['lz4', 'block checksums', repeated(noise(100), 70_000), ['-B4', '-BX']],
  ['lz4', 'the length of its content', skewed(300), ['--content-size']],
  ['lz4', 'no checksum', skewed(300), ['--no-frame-crc']],
  ['lz4', 'all flags', repeated(noise(100), 70_000), ['-B4', '-BD', '-BX', '--content-size', '-9']],
  ['zstd', 'nothing', zeros(0), []],
  ['zstd', 'one byte', Buffer.from('a'), []],
  ['zstd', 'noise, a raw block', noise(200), []],
  ['zstd', 'zeros, run-length blocks', zeros(300_000), []],
  ['zstd', 'zeros without their length', zeros(300_000), ['piped']],
  ['zstd', 'a period of 3', repeated('abc', 5000), []],
  ['zstd', 'text, Huffman in one stream', skewed(250), ['-19']],
  ['zstd', 'text, Huffman in four streams', skewed(1500), ['-19']],
  ['zstd', 'text, the fastest way', skewed(900), ['--fast=5']],
  [
    'zstd',
    'small blocks, tables used again',
    skewed(3000),
    ['-19', '--target-compressed-block-size=64'],
  ],
  ['zstd', 'integers', integers(300), ['-3']],
  ['zstd', 'integers, the hardest way', integers(300), ['--ultra', '-22', '--no-check']],
  ['zstd', 'several blocks without their length', repeated(noise(500), 400_000), ['piped']],
  ['zstd', 'text without its length or checksum', skewed(500), ['piped', '--no-check']],
];

function compress(codec, content, options) {
  const flags = options.filter((option) => option !== 'piped');
  if (codec === 'zstd' && options.includes('piped')) {
    return execFileSync('zstd', ['-q', '-c', '--single-thread', ...flags], { input: content });
  }
  const path = join(folder, 'content');
  writeFileSync(path, content);
  return execFileSync(codec, ['-q', '-c', ...flags, path]);
}

const frames = wanted.map(([codec, name, content, options]) => ({
  codec,
  name,
  options: options.join(' '),
  length: content.length,
  sha256: createHash('sha256').update(content).digest('hex'),
  frame: compress(codec, content, options).toString('hex'),
}));
const refused = [
  ['lz4', 'a dictionary', ['-D', dictionary]],
  ['lz4', 'the legacy format', ['-l']],
  ['zstd', 'a dictionary', ['-D', trained(), '-19']],
].map(([codec, name, options]) => {
  const frame = compress(codec, skewed(400), options).toString('hex');
  const told = options.map((option) => (option.startsWith('/') ? 'FILE' : option)).join(' ');
  return { codec, name, options: told, frame };
});

/** A dictionary with an id, which a raw one has not. */
function trained() {
  const samples = Array.from({ length: 300 }, (_, i) => {
    const path = join(folder, `sample-${i}`);
    writeFileSync(path, skewed(300));
    return path;
  });
  const path = join(folder, 'trained');
  execFileSync('zstd', ['-q', '--train', ...samples, '--maxdict=2048', '-o', path]);
  return path;
}

rmSync(folder, { recursive: true });
writeFileSync(
  new URL('frames.json', import.meta.url),
  `${JSON.stringify({ frames, refused }, null, 2)}\n`,
);
