/**
 * Which member of a full cache makes room (second chance): members come up in turn, and one that
 * was used since its last turn is spared once. A byte a member, so that marking a use costs little.
 */

export class SecondChance {
  readonly #isUsed: Uint8Array;
  /** The next member to come up. */
  #next = 0;

  /** Members are the numbers 0 to `count - 1`. */
  constructor(count: number) {
    this.#isUsed = new Uint8Array(count);
  }

  /** Marks a use of a member, or that it has none yet. */
  mark(member: number, isUsed: boolean): void {
    this.#isUsed[member] = isUsed ? 1 : 0;
  }

  /** The member to evict, among those that may go: there must be one. */
  evicted(mayGo: (member: number) => boolean): number {
    for (;;) {
      const member = this.#next;
      this.#next = (member + 1) % this.#isUsed.length;
      if (!mayGo(member)) continue;
      if (this.#isUsed[member] === 0) return member;
      this.#isUsed[member] = 0;
    }
  }
}
