/**
 * Seeded random numbers: the Alea generator of seedrandom, without the six others that an import of
 * the whole package brings into a bundle. Equal seeds give equal numbers on every engine.
 */

import alea from 'seedrandom/lib/alea.js';

export { alea };
