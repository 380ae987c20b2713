/** The one file of seedrandom that is used, which @types/seedrandom does not describe. */
declare module 'seedrandom/lib/alea.js' {
  export default function alea(seed: string): () => number;
}
