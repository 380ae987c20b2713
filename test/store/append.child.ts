/** Appends single rows to a folder, one generation each. */

import { IndexFolder } from '../../src/store/index-folder';

const [folder, count] = process.argv.slice(2);
for (let i = 0; i < Number(count); i++) {
  await (await IndexFolder.open(folder)).append([[1, i, 3]], [`row ${i}`]);
}
