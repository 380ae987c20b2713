import { expect, it } from 'vitest';
import { wordsApart } from '../../src/clusters/describe';
import { Draws } from '../reference/random';

/** Clusters are named by what sets them apart, in texts that share most of their words. */

const draws = new Draws(5);
const LICENCE =
  'Copyright 2024 the authors. Permission is hereby granted, free of charge, to any person ' +
  'obtaining a copy of this software, to deal in the software without restriction.';
const SUBJECTS = {
  sea: ['harbour', 'anchor', 'captain', 'whale'],
  kitchen: ['butter', 'oven', 'flour', 'recipe'],
  sky: ['telescope', 'comet', 'orbit', 'lunar'],
};
const COMMON = ['time', 'people', 'number', 'under', 'after', 'large'];
const pick = <T>(from: readonly T[]): T => from[draws.integer(from.length)];

/** Each text has two words of its subject, and many words that all subjects have. */
const clusters = Object.entries(SUBJECTS).map(([subject, own]) =>
  Array.from({ length: 60 }, (_, i) => {
    const path = `/usr/share/doc/${subject}pkg/README see src/${subject}pkg/${subject}file.c`;
    const shared = Array.from({ length: 30 }, () => pick(COMMON)).join(' ');
    const link = `https://${subject}host.org/${i} C:\\${subject}dir\\file`;
    return `${LICENCE} ${path} ${shared} ${pick(own)} of ${pick(own)} ${link} 1${i % 3} ${i}`;
  }),
);

it('by words of one cluster, never by what all share, numbers or paths', () => {
  const names = wordsApart(clusters);
  expect(names).toHaveLength(3);
  Object.values(SUBJECTS).forEach((own, cluster) => {
    expect(names[cluster]).toHaveLength(3);
    for (const word of names[cluster]) expect(own).toContain(word);
  });
});

it('by none where nothing sets them apart, and in one order whatever comes first', () => {
  expect(wordsApart([clusters[0], clusters[0]])).toEqual([[], []]);
  expect(wordsApart([[], ['tea'], []])).toEqual([[], ['tea'], []]);
  const reversed = wordsApart(clusters.map((texts) => [...texts].reverse()));
  expect(reversed.map((some) => [...some].sort())).toEqual(
    wordsApart(clusters).map((some) => [...some].sort()),
  );
});

it('by words with one slash between, which are no path', () => {
  const [apart] = wordsApart([['read/write access'], ['nothing here']]);
  expect(apart.sort()).toEqual(['access', 'read', 'write']);
});
