/**
 * What the manifest of an index folder says: all that `halfspace info` shows, so it imports neither
 * Arrow nor what reads rows.
 */

import { realpath, stat } from 'node:fs/promises';
import { FormatError, wrongType } from '../base/check';
import { ignore } from '../formats/file-io';
import type { IdKind } from '../index/ids';
import type { RecallReport, SimHashIndexOptions } from '../index/index-options';
import type { ColumnInfo } from '../table/columns/types';
import type { TextModel } from '../vectors/vectors';
import { neededManifest } from './generations';
import { type FolderFile, filesOf, type Manifest, optionsOf, type TextSettings } from './manifest';

/** The real path of an index folder, and the manifest of its newest generation. */
export async function readFolder(folder: string): Promise<{ path: string; manifest: Manifest }> {
  if (typeof folder !== 'string') throw wrongType('folder', 'a path', folder);
  const found = await stat(folder).catch(ignore(['ENOENT', 'ENOTDIR']));
  if (found === null) throw new Error(`there is no folder ${folder}`);
  if (!found.isDirectory()) throw new FormatError('a file, not the folder of an index', folder);
  const manifest = await neededManifest(folder);
  return { path: await pathOf(folder), manifest };
}

/** The real path of a folder, one for all names that it has. */
export async function pathOf(folder: string): Promise<string> {
  return (await realpath(folder).catch(ignore(['ENOENT']))) ?? folder;
}

/** An index folder of which the manifest was read, and nothing else. */
export class FolderFacts {
  /** Path of the folder. */
  readonly path: string;
  /** @internal */
  protected manifest: Manifest;

  /** @internal */
  constructor(path: string, manifest: Manifest) {
    this.path = path;
    this.manifest = manifest;
  }

  /** The generation that was opened or written last. */
  get generation(): number {
    return this.manifest.generation;
  }

  /** Rows, without removed ones. */
  get rowCount(): number {
    return this.manifest.rows;
  }

  /** The options of the index. */
  get options(): SimHashIndexOptions {
    return optionsOf(this.manifest.index);
  }

  /** What `optimize` measured; null before. */
  get report(): RecallReport | null {
    const { report } = this.manifest.index;
    return report && { ...report };
  }

  /** What kind of ids the rows have; null where there never was a row. @internal */
  get idKind(): IdKind | null {
    return this.manifest.index.ids;
  }

  /** How texts became vectors, if saved. */
  get text(): TextSettings | TextModel | null {
    return this.manifest.text;
  }

  /** The files of this generation. */
  get files(): readonly FolderFile[] {
    return filesOf(this.manifest);
  }

  /** The carried columns. */
  get columnInfo(): readonly ColumnInfo[] {
    return this.manifest.columns;
  }
}
