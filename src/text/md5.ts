/** MD5 (RFC 1321), for codes as the Python package `simhash` makes them; it keeps no secret. */

const SHIFTS = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];
/** floor(2^32 |sin(i + 1)|), by the RFC's table, so that no engine's sine is asked. */
const SINES = Uint32Array.from(
  `d76aa478 e8c7b756 242070db c1bdceee f57c0faf 4787c62a a8304613 fd469501
   698098d8 8b44f7af ffff5bb1 895cd7be 6b901122 fd987193 a679438e 49b40821
   f61e2562 c040b340 265e5a51 e9b6c7aa d62f105d 02441453 d8a1e681 e7d3fbc8
   21e1cde6 c33707d6 f4d50d87 455a14ed a9e3e905 fcefa3f8 676f02d9 8d2a4c8a
   fffa3942 8771f681 6d9d6122 fde5380c a4beea44 4bdecfa9 f6bb4b60 bebfbc70
   289b7ec6 eaa127fa d4ef3085 04881d05 d9d4d039 e6db99e5 1fa27cf8 c4ac5665
   f4292244 432aff97 ab9423a7 fc93a039 655b59c3 8f0ccc92 ffeff47d 85845dd1
   6fa87e4f fe2ce6e0 a3014314 4e0811a1 f7537e82 bd3af235 2ad7d2bb eb86d391`
    .split(/\s+/)
    .map((word) => Number.parseInt(word, 16)),
);

/** The last 8 bytes of the digest as a number, first byte highest: what `simhash` keeps of it. */
export function md5Low64(bytes: Uint8Array): bigint {
  const padded = new Uint8Array(64 * Math.ceil((bytes.length + 9) / 64));
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, 8n * BigInt(bytes.length), true);
  const state = Uint32Array.of(0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476);
  for (let block = 0; block < padded.length; block += 64) mix(state, view, block);
  const digest = new DataView(new ArrayBuffer(16));
  state.forEach((word, i) => {
    digest.setUint32(4 * i, word, true);
  });
  return digest.getBigUint64(8, false);
}

function mix(state: Uint32Array, block: DataView, at: number): void {
  let [a, b, c, d] = state;
  for (let i = 0; i < 64; i++) {
    const round = i >> 4;
    let f = c ^ (b | ~d);
    let word = (7 * i) & 15;
    if (round === 0) {
      f = (b & c) | (~b & d);
      word = i;
    } else if (round === 1) {
      f = (d & b) | (~d & c);
      word = (5 * i + 1) & 15;
    } else if (round === 2) {
      f = b ^ c ^ d;
      word = (3 * i + 5) & 15;
    }
    const sum = (a + f + SINES[i] + block.getUint32(at + 4 * word, true)) | 0;
    const shift = SHIFTS[4 * round + (i & 3)];
    a = d;
    d = c;
    c = b;
    b = (b + ((sum << shift) | (sum >>> (32 - shift)))) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
}
