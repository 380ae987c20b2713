// The packed library as a user's ES module: prints as JSON what it came to. Takes the path of a new file.

import * as library from 'halfspace';
import * as node from 'halfspace/node';
import { goldenDigests } from './golden.mjs';
import { fileJob, job } from './job.mjs';

const report = {
  exports: [Object.keys(library).sort(), Object.keys(node).sort()],
  digests: await goldenDigests(library),
  job: await job(library),
  fileJob: await fileJob(library, node, process.argv[2]),
};
process.stdout.write(JSON.stringify(report));
