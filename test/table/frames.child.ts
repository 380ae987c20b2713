/**
 * Decodes damaged frames by the thousand and prints, as JSON, what was seen. In a separate process,
 * where a hang can be ended. Argument: the codec.
 */

import { createHash } from 'node:crypto';
import { decodeLz4, decodeZstd } from '../../src/table/compression';
import { allocated } from './allocations'; // first: it must see the libraries' constructors
import { note } from './child-note';
import { frames } from './frames.json';

export interface FrameSweep {
  opened: number;
  slowestMs: number;
  failures: string[];
}

const codec = process.argv[2];
const lz4 = (frame: Uint8Array) => decodeLz4(frame, 255 * frame.length);
const decode = codec === 'lz4' ? lz4 : decodeZstd;
const sweep: FrameSweep = { opened: 0, slowestMs: 0, failures: [] };

/** `sha256` is the only answer that may come; any may where it is null. */
function open(frame: Uint8Array, what: string, sha256: string | null): void {
  note(what);
  sweep.opened++;
  const start = performance.now();
  const { bytes } = allocated(() => {
    try {
      const content = decode(frame);
      if (sha256 === null) return;
      const found = createHash('sha256').update(content).digest('hex');
      if (found !== sha256) sweep.failures.push(`${what}: ${content.length} other bytes`);
    } catch (error) {
      if (!(error instanceof Error)) sweep.failures.push(`${what}: no Error`);
    }
  });
  sweep.slowestMs = Math.max(sweep.slowestMs, performance.now() - start);
  // What either codec can make of so many bytes, twice, and a window.
  const most = 2 * frame.length * (codec === 'lz4' ? 255 : 32_768) + (16 << 20);
  if (bytes > most) sweep.failures.push(`${what}: asked for ${bytes} bytes`);
}

for (const { name, sha256, frame } of frames.filter((one) => one.codec === codec)) {
  const sound = Uint8Array.from(Buffer.from(frame, 'hex'));
  for (let length = 0; length < sound.length; length++) {
    open(sound.slice(0, length), `${name}, first ${length} bytes`, sha256);
  }
  for (let at = 0; at < sound.length; at++) {
    const byte = sound[at];
    for (const other of new Set([byte ^ 1, byte ^ 0x80, byte ^ 0xff, (byte + 1) & 255, 0, 255])) {
      const bytes = sound.slice();
      bytes[at] = other;
      open(bytes, `${name}, byte ${at} from ${byte} to ${other}`, null);
    }
  }
}
process.stdout.write(JSON.stringify({ ...sweep, failures: sweep.failures.slice(0, 20) }));
