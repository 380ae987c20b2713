/**
 * The entropy codes of ZSTD: bytes read forward, bits read backward, FSE and Huffman tables. Reads
 * stay within the input, tables have a fixed size, and every loop is bounded by one of the two.
 * Format: RFC 8878, sections 4.1 and 4.2.
 */

/** A part of the input that is read forward; a read beyond its end throws. */
export class Source {
  constructor(
    readonly bytes: Uint8Array,
    readonly view: DataView,
    /** Address of the next byte. */
    public at: number,
    readonly end: number,
  ) {}

  static of(bytes: Uint8Array): Source {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return new Source(bytes, view, 0, bytes.length);
  }

  get left(): number {
    return this.end - this.at;
  }

  /** Skips `count` bytes and returns the address of the first. */
  skip(count: number): number {
    if (count > this.left) throw new Error('a ZSTD frame is cut short');
    this.at += count;
    return this.at - count;
  }

  /** The next `count` bytes, little-endian. Exact up to 2^53. */
  uint(count: number): number {
    const start = this.skip(count);
    let value = 0;
    for (let i = count - 1; i >= 0; i--) value = value * 256 + this.bytes[start + i];
    return value;
  }

  /** The next `count` bytes as another source. */
  part(count: number): Source {
    const start = this.skip(count);
    return new Source(this.bytes, this.view, start, start + count);
  }
}

/** How many bits a number takes; 0 for 0. */
const bitLength = (value: number): number => 32 - Math.clz32(value);

/**
 * Bits of a source, read from its end to its start; the highest bit that is set in the last byte
 * marks the end.
 *
 * Words are loaded so that they end with the byte that has the next bit. They may reach up to 3
 * bytes before the source, where its block has as many of its own: these bits never count.
 */
export class BackwardBits {
  readonly view: DataView;
  readonly start: number;
  /** How many bits were not read yet. */
  left: number;

  constructor(source: Source) {
    const last = source.left > 0 ? source.bytes[source.end - 1] : 0;
    if (last === 0) throw new Error('a ZSTD bit stream has no end mark');
    this.view = source.view;
    this.start = source.at;
    this.left = 8 * (source.left - 1) + bitLength(last) - 1;
  }

  /**
   * The next `count` bits, at most 25: a word has that many, wherever in its last byte they start.
   */
  read(count: number): number {
    if (count === 0) return 0;
    const top = this.left - 1;
    this.left -= count;
    if (this.left < 0) throw new Error('a ZSTD bit stream is cut short');
    const word = this.view.getUint32(this.start + (top >> 3) - 3, true);
    return (word << (7 - (top & 7))) >>> (32 - count);
  }

  /** The next `count` bits, at most 31, as two reads where one word is not enough. */
  readLong(count: number): number {
    if (count <= 25) return this.read(count);
    const high = this.read(count - 16);
    return high * 65_536 + this.read(16);
  }
}

/** Limits of the states of a table, as powers of 2. */
const MAX_FSE_LOG = 9;
const MIN_FSE_LOG = 5;

/**
 * A state machine. Each state stands for a symbol and, with some more bits, leads to the next
 * state.
 */
export class FseTable {
  /**
   * Of each state: the least next state (<< 16), how many bits are added to it (<< 8), the symbol.
   */
  readonly cells = new Int32Array(1 << MAX_FSE_LOG);
  /** Bits of the number of a state. */
  log = 0;

  /** Makes a table of one state, which stands for a symbol and takes no bits. */
  setSingle(symbol: number): this {
    this.log = 0;
    this.cells[0] = symbol;
    return this;
  }

  /** Reads the description of a table, which says how many states each symbol has. */
  read(source: Source, maxLog: number, symbolCount: number): this {
    const { bytes, at, end } = source;
    let bit = 0;
    // Beyond the source zeros are read; `skip` below refuses a table that needed them.
    const peek = (count: number): number => {
      const from = at + (bit >> 3);
      let word = 0;
      for (let i = 0; i < 3 && from + i < end; i++) word |= bytes[from + i] << (8 * i);
      return (word >> (bit & 7)) & ((1 << count) - 1);
    };

    const log = peek(4) + MIN_FSE_LOG;
    bit += 4;
    if (log > maxLog) throw new Error(`a ZSTD table of 2^${log} states is too large`);
    const shares = new Int16Array(symbolCount);
    let symbol = 0;
    for (let left = 1 << log; left > 0; ) {
      if (symbol >= symbolCount) throw new Error('a ZSTD table has too many symbols');
      // Values are 0..left + 1; the lowest of them take one bit less.
      const bits = bitLength(left + 1);
      const short = (1 << bits) - 2 - left;
      const half = 1 << (bits - 1);
      let value = peek(bits);
      if ((value & (half - 1)) < short) {
        value &= half - 1;
        bit += bits - 1;
      } else {
        if (value >= half) value -= short;
        bit += bits;
      }
      const share = value - 1; // -1: less than one state, which gets one
      shares[symbol++] = share;
      left -= Math.abs(share);
      if (share !== 0) continue;
      for (let more = 3; more === 3; symbol += more) {
        if (symbol >= symbolCount) throw new Error('a ZSTD table has too many symbols');
        more = peek(2);
        bit += 2;
      }
    }
    source.skip((bit + 7) >> 3);
    return this.build(shares, log);
  }

  /** Spreads symbols over 2^log states by their shares; -1 is a share of less than one state. */
  build(shares: ArrayLike<number>, log: number): this {
    const { cells } = this;
    const size = 1 << log;
    // The loop that spreads symbols ends only where the shares fill the table exactly.
    let sum = 0;
    for (let symbol = 0; symbol < shares.length; symbol++) sum += Math.abs(shares[symbol]);
    if (sum !== size) throw new Error('the shares of a ZSTD table do not add up');

    const next = new Uint16Array(shares.length);
    let high = size;
    for (let symbol = 0; symbol < shares.length; symbol++) {
      next[symbol] = Math.abs(shares[symbol]);
      if (shares[symbol] < 0) cells[--high] = symbol;
    }
    const step = (size >> 1) + (size >> 3) + 3; // odd, thus it comes to every state
    let at = 0;
    for (let symbol = 0; symbol < shares.length; symbol++) {
      for (let i = 0; i < shares[symbol]; i++) {
        cells[at] = symbol;
        do at = (at + step) & (size - 1);
        while (at >= high);
      }
    }
    // The states of a symbol share all next states among them, in ascending order (RFC 8878,
    // 4.1.1).
    for (let state = 0; state < size; state++) {
      const symbol = cells[state];
      const rank = next[symbol]++;
      const bits = log + 1 - bitLength(rank);
      cells[state] = (((rank << bits) - size) << 16) | (bits << 8) | symbol;
    }
    this.log = log;
    return this;
  }
}

/** Limits of codes and of the table by which their weights are written. RFC 8878, section 4.2.1. */
const MAX_HUFFMAN_LOG = 11;
const MAX_WEIGHTS_LOG = 6;
/** Most weights that a description has; that of the last symbol follows from the others. */
const MAX_WEIGHTS = 255;

/** A prefix code for literals, as a table that is looked up by the next bits of a stream. */
export class HuffmanTable {
  /**
   * By the next `log` bits of a stream: the length of the first code in them (<< 8), its symbol.
   */
  readonly #cells = new Uint16Array(1 << MAX_HUFFMAN_LOG);
  readonly #weights = new Uint8Array(MAX_WEIGHTS + 1);
  readonly #weightsTable = new FseTable();
  /** Bits of the longest code; 0 while no table was read. */
  log = 0;

  /**
   * Reads the description of a table: a weight for each symbol, which gives the length of its code.
   */
  read(source: Source): void {
    const kind = source.uint(1);
    const count =
      kind < 128 ? this.#readWeights(source.part(kind)) : this.#unpackWeights(source, kind - 127);
    const weights = this.#weights;

    let sum = 0;
    for (let i = 0; i < count; i++) {
      if (weights[i] > MAX_HUFFMAN_LOG) throw new Error('a ZSTD Huffman code is too long');
      sum += (1 << weights[i]) >> 1;
      // The last weight makes the sum of 2^(weight - 1) a power of two.
    }
    const log = bitLength(sum);
    if (log === 0 || log > MAX_HUFFMAN_LOG)
      throw new Error('no ZSTD Huffman code has such weights');
    const rest = (1 << log) - sum;
    if ((rest & (rest - 1)) !== 0) throw new Error('a ZSTD Huffman code is not complete');
    weights[count] = bitLength(rest);
    this.#build(count + 1, log);
  }

  /** Reads weights of 4 bits each; returns how many. */
  #unpackWeights(source: Source, count: number): number {
    const start = source.skip((count + 1) >> 1);
    for (let i = 0; i < count; i++) {
      const byte = source.bytes[start + (i >> 1)];
      this.#weights[i] = i % 2 === 0 ? byte >> 4 : byte & 15;
    }
    return count;
  }

  /**
   * Reads weights by an FSE table with two states in turn, until the bits end; returns how many.
   */
  #readWeights(source: Source): number {
    const weights = this.#weights;
    const { cells, log } = this.#weightsTable.read(source, MAX_WEIGHTS_LOG, MAX_HUFFMAN_LOG + 1);
    const bits = new BackwardBits(source);
    let state = bits.read(log);
    let other = bits.read(log);
    for (let count = 0; count < MAX_WEIGHTS - 1; ) {
      const cell = cells[state];
      weights[count++] = cell & 255;
      const needed = (cell >> 8) & 255;
      if (needed > bits.left) {
        weights[count++] = cells[other] & 255;
        return count;
      }
      state = other;
      other = (cell >> 16) + bits.read(needed);
    }
    throw new Error('a ZSTD Huffman code has too many weights');
  }

  /** Fills the table: a code of a weight takes 2^(weight - 1) cells. */
  #build(count: number, log: number): void {
    const weights = this.#weights;
    let at = 0;
    // The longest codes come first; among equals, the lowest symbols.
    for (let weight = 1; weight <= log; weight++) {
      for (let symbol = 0; symbol < count; symbol++) {
        if (weights[symbol] !== weight) continue;
        const end = at + (1 << (weight - 1));
        this.#cells.fill(((log + 1 - weight) << 8) | symbol, at, end);
        at = end;
      }
      // Two leaves at least are the deepest; otherwise `log` is not the longest code's length.
      if (weight === 1 && at < 2) throw new Error('no ZSTD Huffman code has such weights');
    }
    this.log = log;
  }

  /** Decodes a whole stream to `out`, from `to` up to `end`; it must end exactly there. */
  decode(source: Source, out: Uint8Array, to: number, end: number): void {
    const { view, start, left } = new BackwardBits(source);
    const cells = this.#cells;
    const shift = 32 - this.log;
    let next = to;
    let bits = left;
    // A code that needs more bits than are left makes `bits` negative, which is checked at the end.
    // The look-up may see bits before the source, but they do not change a code that lies within
    // it.
    while (next < end && bits > 0) {
      const top = bits - 1;
      let word = view.getUint32(start + (top >> 3) - 3, true) << (7 - (top & 7));
      const cell = cells[word >>> shift];
      out[next++] = cell;
      bits -= cell >> 8;
      if (next < end) {
        word <<= cell >> 8; // 25 bits of the word are valid, enough for two codes
        const second = cells[word >>> shift];
        out[next++] = second;
        bits -= second >> 8;
      }
    }
    if (bits !== 0 || next !== end)
      throw new Error('a ZSTD literals stream does not end where it should');
  }
}
