/**
 * The rows of each distinct code beyond its first: linked lists in one flat array, found by open
 * addressing. A Map holds at most 2^24 distinct codes, takes ten times the memory, and costs a
 * search a cache miss for each object. The hash needs no secret: distinct codes are numbered one by
 * one, so n rows can make at most about the root of n of them collide.
 */

/** Instead of a row or a link: there is none. */
const NONE = 0xffff_ffff;
const MIN_LISTS = 16;
const MIN_LINKS = 64;

/** Fields of a list: distinct code, first link, last link, number of rows, removed ones of them. */
const FIELDS = 5;
const HEAD = 1;
const TAIL = 2;
const LENGTH = 3;
const REMOVED = 4;

/** True if a row still belongs to a distinct code: it was not removed. */
type IsThere = (row: number, distinct: number) => boolean;

/**
 * Lists of rows by distinct code, ascending. `add` takes constant time. Removed rows stay in a
 * list, and are skipped, until they are an eighth of it: then the list is cleaned.
 */
export class SharedRows {
  /** The table, at most three quarters full; an empty list stays in it until the table grows. */
  #lists = new Uint32Array(FIELDS * MIN_LISTS).fill(NONE);
  #listCount = 0;
  #size = 0;
  /** For each link its row and the next link. */
  #links = new Uint32Array(2 * MIN_LINKS);
  #linkCount = 0;
  /** The first of the released links, which are linked like a list. */
  #free = NONE;

  /** The lists of another thread, for reading only. */
  static over({ lists, links, size }: SharedRows['state']): SharedRows {
    const shared = new SharedRows();
    shared.#lists = lists;
    shared.#links = links;
    shared.#size = size;
    return shared;
  }

  get state() {
    return { lists: this.#lists, links: this.#links, size: this.#size };
  }

  /** Number of distinct codes that have rows here. */
  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#lists.byteLength + this.#links.byteLength;
  }

  /** Appends a row, which must be above those that the distinct code has. */
  add(distinct: number, row: number): void {
    let at = this.#find(distinct);
    if (this.#lists[at] === NONE) {
      if (4 * FIELDS * (this.#listCount + 1) > 3 * this.#lists.length) {
        this.#rehash();
        at = this.#find(distinct);
      }
      this.#lists[at] = distinct; // first and last link are NONE in a free entry
      this.#lists[at + LENGTH] = 0;
      this.#lists[at + REMOVED] = 0;
      this.#listCount++;
    }
    const link = this.#newLink(row);
    const lists = this.#lists;
    if (lists[at + HEAD] === NONE) {
      lists[at + HEAD] = link;
      this.#size++;
    } else this.#links[2 * lists[at + TAIL] + 1] = link;
    lists[at + TAIL] = link;
    lists[at + LENGTH]++;
  }

  /** Visits the live rows of a distinct code, ascending, until `visit` returns false. */
  each(distinct: number, isThere: IsThere, visit: (row: number) => boolean): void {
    if (this.#size === 0) return;
    const at = this.#find(distinct);
    const links = this.#links;
    const isWhole = this.#lists[at + REMOVED] === 0; // then no row is checked: each is a cache miss
    for (let link = this.#headOf(at); link !== NONE; ) {
      const row = links[2 * link];
      link = links[2 * link + 1];
      if ((isWhole || isThere(row, distinct)) && !visit(row)) return;
    }
  }

  /** Takes out the first live row of a distinct code; `otherwise` if there is none. */
  takeFirst(distinct: number, isThere: IsThere, otherwise: number): number {
    const at = this.#find(distinct);
    while (this.#headOf(at) !== NONE) {
      const row = this.#links[2 * this.#lists[at + HEAD]];
      const isTaken = isThere(row, distinct);
      if (!isTaken) this.#lists[at + REMOVED]--;
      this.#dropHead(at);
      if (isTaken) return row;
    }
    return otherwise;
  }

  /** Counts a removed row of a distinct code; cleans the list when an eighth is removed. */
  noteRemoved(distinct: number, isThere: IsThere): void {
    const at = this.#find(distinct);
    const lists = this.#lists;
    if (this.#headOf(at) === NONE) return;
    lists[at + REMOVED]++;
    if (8 * lists[at + REMOVED] <= lists[at + LENGTH]) return;
    const links = this.#links;
    while (this.#headOf(at) !== NONE && !isThere(links[2 * lists[at + HEAD]], distinct))
      this.#dropHead(at);
    for (let link = lists[at + HEAD]; link !== NONE; ) {
      const next = links[2 * link + 1];
      if (next === NONE) lists[at + TAIL] = link;
      if (next === NONE || isThere(links[2 * next], distinct)) link = next;
      else {
        links[2 * link + 1] = links[2 * next + 1];
        this.#release(next);
        lists[at + LENGTH]--;
      }
    }
    lists[at + REMOVED] = 0;
  }

  /** Where the list of a distinct code is, or belongs. */
  #find(distinct: number): number {
    const lists = this.#lists;
    const size = lists.length / FIELDS;
    let place = Math.imul(distinct, 0x9e37_79b1) >>> (Math.clz32(size) + 1);
    let hop = 1; // grows, so that runs of full entries do not merge
    while (lists[FIELDS * place] !== distinct && lists[FIELDS * place] !== NONE) {
      place = (place + hop++) & (size - 1);
    }
    return FIELDS * place;
  }

  #headOf(at: number): number {
    return this.#lists[at] === NONE ? NONE : this.#lists[at + HEAD];
  }

  /** Builds a table of the lists that are not empty, with room for as many more. */
  #rehash(): void {
    const before = this.#lists;
    let size = MIN_LISTS;
    while (3 * size < 8 * this.#size) size *= 2;
    this.#lists = new Uint32Array(FIELDS * size).fill(NONE);
    this.#listCount = this.#size;
    for (let from = 0; from < before.length; from += FIELDS) {
      if (before[from] === NONE || before[from + HEAD] === NONE) continue;
      this.#lists.set(before.subarray(from, from + FIELDS), this.#find(before[from]));
    }
  }

  /** A link for a row: a released one if there is any, else the next of the array. */
  #newLink(row: number): number {
    let link = this.#free;
    if (link === NONE) link = this.#linkCount++;
    else this.#free = this.#links[2 * link + 1];
    if (2 * this.#linkCount > this.#links.length) {
      const grown = new Uint32Array(2 * Math.ceil(0.75 * this.#links.length));
      grown.set(this.#links);
      this.#links = grown;
    }
    this.#links[2 * link] = row;
    this.#links[2 * link + 1] = NONE;
    return link;
  }

  /** Releases the first link of a list. */
  #dropHead(at: number): void {
    const link = this.#lists[at + HEAD];
    this.#lists[at + HEAD] = this.#links[2 * link + 1];
    this.#release(link);
    if (--this.#lists[at + LENGTH] === 0) this.#size--;
  }

  #release(link: number): void {
    this.#links[2 * link + 1] = this.#free;
    this.#free = link;
  }
}
