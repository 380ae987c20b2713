// The three files as bytes: all training images as rows, the first test images as queries. The
// IDX files come from Debian's package, unless they are installed or FASHION_MNIST names a folder.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import { searchFiles } from '../lib/search-files.mjs';

const PACKAGE = 'dataset-fashion-mnist';
const INSTALLED = 'usr/share/datasets/fashion-mnist';
const ROWS = 60_000;
const QUERIES = 1000;
const SIDE = 28;
const METADATA = {
  source: `Fashion-MNIST, by Debian ${PACKAGE} 0.0~git20200523.55506a9-1`,
  licence: 'MIT',
};

export async function makeFiles() {
  const temporary = mkdtempSync(join(tmpdir(), 'halfspace-images-'));
  try {
    const folder = process.env.FASHION_MNIST ?? installed() ?? downloaded(temporary);
    return await searchFiles({
      name: 'images',
      train: readImages(folder, 'train', ROWS),
      queries: readImages(folder, 't10k', QUERIES),
      column: 'category',
      metadata: METADATA,
    });
  } finally {
    rmSync(temporary, { recursive: true });
  }
}

function installed() {
  const folder = `/${INSTALLED}`;
  return existsSync(folder) ? folder : undefined;
}

/** The package is unpacked into a folder, not installed, so it takes no rights. */
function downloaded(folder) {
  const options = { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] };
  try {
    execFileSync('apt-get', ['download', PACKAGE], options);
    execFileSync('dpkg-deb', ['-x', readdirSync(folder)[0], 'files'], options);
  } catch (error) {
    throw new Error(
      `cannot download Debian's ${PACKAGE} (run "apt-get update" first); elsewhere, set ` +
        `FASHION_MNIST to a folder with the IDX files of Fashion-MNIST: ${error.message}`,
    );
  }
  return join(folder, 'files', INSTALLED);
}

/** The first `count` images of 'train' or 't10k', and their categories. */
function readImages(folder, name, count) {
  const dimensions = SIDE * SIDE;
  const pixels = readIdx(join(folder, `${name}-images-idx3-ubyte.gz`), 3);
  const values = Float32Array.from(pixels.subarray(0, count * dimensions));
  const labels = readIdx(join(folder, `${name}-labels-idx1-ubyte.gz`), 1).slice(0, count);
  if (values.length !== count * dimensions || labels.length !== count) {
    throw new Error(`${name}: expected ${count} images or more, got ${labels.length}`);
  }
  for (let at = 0; at < values.length; at += dimensions) {
    if (values.subarray(at, at + dimensions).every((value) => value === 0)) {
      throw new Error(`${name}: image ${at / dimensions} is black and has no direction`);
    }
  }
  return { labels, values, dimensions };
}

/** The bytes of a compressed IDX file of bytes with so many dimensions, without its head. */
function readIdx(path, rank) {
  const bytes = gunzipSync(readFileSync(path));
  if (bytes.readUInt32BE(0) !== 0x800 + rank) throw new Error(`${path}: not IDX of bytes`);
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length).subarray(4 + 4 * rank);
}
