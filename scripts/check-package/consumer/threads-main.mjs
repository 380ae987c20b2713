// Threads in Node, bundled or not: prints what they come to.

import * as library from 'halfspace';
import { threads } from './threads.mjs';

threads(library).then((found) => process.stdout.write(JSON.stringify(found)));
