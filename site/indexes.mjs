// The indexes that the site's page searches, as folders of public/. Each is made by the command, as a
// reader would make it; those whose data are not built are left out.

/** `input` is a file of datasets/, `id` its column of names, `show` a carried column of the results. */
export const INDEXES = [
  {
    folder: 'nouns.hs',
    title: '17,824 English nouns',
    input: 'nouns/nouns.arrow',
    id: 'word',
    show: 'category',
    examples: ['guitar', 'monday', 'nurse', 'volcano'],
  },
  {
    folder: 'sentences.hs',
    title: '352,575 English sentences',
    input: 'sentences/train.arrow',
    id: 'sentence',
    show: null,
    examples: [
      'the music of Mozart',
      'The sky lit up quickly above the raging volcano',
      'The stock market soared after the cease-fire was announced',
    ],
  },
];
