// The indexes that the site's page searches, as folders of public/. Each is made by the command, as a
// reader would make it; those whose data are not built are left out.

/**
 * `input` is a file of datasets/, `id` its column of names, without which rows have their numbers;
 * `show` is a carried column of the results. An example is a name, and what the page writes for it.
 */
export const INDEXES = [
  {
    folder: 'nouns.hs',
    title: '17,824 English nouns',
    input: 'nouns/nouns.arrow',
    id: 'word',
    show: 'category',
    examples: ['guitar', 'monday', 'nurse', 'volcano'].map((name) => ({ name, text: name })),
  },
  {
    folder: 'sentences.hs',
    title: '352,575 English sentences',
    input: 'sentences/train.arrow',
    id: null,
    show: 'sentence',
    examples: [
      { name: '198810', text: 'the music of Mozart' },
      { name: '263628', text: 'The sky lit up quickly above the raging volcano' },
      { name: '244372', text: 'The stock market soared after the cease-fire was announced' },
      { name: '302417', text: 'THIS SOFTWARE IS PROVIDED "AS IS" WITHOUT WARRANTY OF ANY KIND.' },
    ],
  },
];
