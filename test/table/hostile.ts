/**
 * Arrow files that no writer writes: made from sound ones by changing a length, a place or a count to
 * what a reader must not believe. Each must be refused with a FormatError, soon and in little memory.
 */

import { readFileSync } from 'node:fs';
import { Table, tableToIPC, type Vector } from 'apache-arrow';
import { Patch } from './arrow-patch';

export interface HostileFile {
  readonly name: string;
  readonly reads: 'codes' | 'vectors' | 'sparse';
  readonly options: object;
  readonly bytes: Uint8Array;
  /** What the message must say. */
  readonly message: RegExp;
}

export interface Hostility {
  reads?: HostileFile['reads'];
  options?: object;
  message?: RegExp;
}

export class Workshop {
  readonly #fixtures: URL;

  constructor(fixtures: URL) {
    this.#fixtures = fixtures;
  }

  /** A fixture of another program. */
  read(name: string): Uint8Array {
    return Uint8Array.from(readFileSync(new URL(`arrow/${name}`, this.#fixtures)));
  }

  open(file: string | Uint8Array): Patch {
    return new Patch(typeof file === 'string' ? this.read(`${file}.arrow`) : file);
  }

  /** A changed file, from a fixture's name or from bytes. */
  make(
    name: string,
    file: string | Uint8Array,
    change: (patch: Patch) => void,
    hostility: Hostility = {},
  ): HostileFile {
    const patch = this.open(file);
    change(patch);
    return hostile(name, patch.bytes, hostility);
  }
}

export function hostile(name: string, bytes: Uint8Array, hostility: Hostility = {}): HostileFile {
  return { name, bytes, reads: 'codes', options: {}, message: /./, ...hostility };
}

export function fileOf(columns: Record<string, Vector>): Uint8Array {
  return tableToIPC(new Table(columns), 'file');
}

/** `count` rows of `width` bytes. */
export function rowsOf(count: number, width: number): Uint8Array[] {
  return Array.from({ length: count }, (_, row) => new Uint8Array(width).fill(row));
}
