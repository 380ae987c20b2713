// The same as threads-main.mjs by `require`.

const library = require('halfspace');
const { threads } = require('./threads.cjs');

threads(library).then((found) => process.stdout.write(JSON.stringify(found)));
