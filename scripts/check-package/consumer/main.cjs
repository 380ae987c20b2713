// The packed library as a user's CommonJS script: the same as main.mjs.

const library = require('halfspace');
const node = require('halfspace/node');
const { goldenDigests } = require('./golden.cjs');
const { fileJob, job } = require('./job.cjs');

async function main() {
  const report = {
    exports: [Object.keys(library).sort(), Object.keys(node).sort()],
    digests: await goldenDigests(library),
    job: await job(library),
    fileJob: await fileJob(library, node, process.argv[2]),
  };
  process.stdout.write(JSON.stringify(report));
}

main();
