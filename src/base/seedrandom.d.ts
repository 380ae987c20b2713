/** The types of one generator of seedrandom; @types/seedrandom has those of the whole package only. */

declare module 'seedrandom/lib/alea.js' {
  import { alea } from 'seedrandom';
  export default alea;
}
