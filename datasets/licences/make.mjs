// The file as bytes: one row for each licence text of the npm package, by id.

import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Utf8 } from 'apache-arrow';

import { arrowFile } from '../lib/arrow-file.mjs';

const TEXTS = 728;
const METADATA = {
  source: 'SPDX licence list, by npm spdx-license-list 6.12.0',
  licence: 'the list CC0-1.0; each text says what may be done with it',
};

export function makeFiles() {
  const licences = readLicences();
  const column = (key) => ({ type: new Utf8(), values: licences.map((one) => one[key]) });
  const columns = { id: column('id'), name: column('name'), text: column('licenseText') };
  return { 'licences.arrow': arrowFile(columns, METADATA) };
}

/** `{ id, name, licenseText }` of each licence, by id. */
export function readLicences() {
  const require = createRequire(import.meta.url);
  const folder = join(dirname(require.resolve('spdx-license-list')), 'licenses');
  const licences = readdirSync(folder)
    .map((name) => name.slice(0, -'.json'.length))
    .sort()
    .map((id) => ({ id, ...JSON.parse(readFileSync(join(folder, `${id}.json`), 'utf8')) }));
  if (
    licences.length !== TEXTS ||
    !licences.every(({ name, licenseText }) => name && licenseText)
  ) {
    throw new Error(`the package is not as expected: ${licences.length} texts, or an empty one`);
  }
  return licences;
}
