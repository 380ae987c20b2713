/** A file of an index folder, read: its size and its checksum are those of the manifest. */

import { join } from 'node:path';
import { FormatError } from '../base/format-error';
import { readExactly } from '../formats/file-io';
import { type FolderFile, fileChecksum } from './manifest';

export async function readFolderFile(folder: string, file: FolderFile): Promise<Uint8Array> {
  const path = join(folder, file.name);
  const bytes = await readExactly(path, file.bytes);
  if (fileChecksum(bytes) === file.checksum) return bytes;
  throw new FormatError('damaged: it fails its checksum', path);
}
