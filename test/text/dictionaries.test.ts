import { describe, expect, it } from 'vitest';
import { jieba, loadOptional, stopWords } from '../../src/text/dictionaries';
import { TextHasher } from '../../src/text/text-hasher';

/** What needs packages of its own: with the real ones. */

describe('stop words', () => {
  it('of a language, by two letters or three', async () => {
    const english = await stopWords('en');
    expect(english).toEqual(await stopWords('eng'));
    expect(english).toContain('about');
    expect(english).not.toContain('computer');
    expect(await stopWords('zh')).toContain('的');
    const hasher = new TextHasher({ stopWords: english });
    expect(hasher.keywords('an index about words').map(({ word }) => word)).toEqual([
      'index',
      'words',
    ]);
  });

  it('of an unknown one are refused, the known ones listed', async () => {
    await expect(stopWords('xx')).rejects.toThrow(
      /"language" expected one of af, ar, .*zu, got "xx"/,
    );
    await expect(stopWords('removeStopwords')).rejects.toThrow('"language" expected one of');
    await expect(stopWords(7 as never)).rejects.toThrow('"language" expected a code');
  });
});

describe('jieba', () => {
  it('cuts Chinese by its dictionary', async () => {
    const tokens = await jieba();
    expect([...tokens('我来到北京清华大学。')]).toEqual(['我', '来到', '北京', '清华大学']);
    expect(tokens.kind).toBe('jieba');
    expect(new TextHasher({ tokens }).keywords('北京 北京 大学')[0]).toEqual({
      word: '北京',
      weight: 2,
    });
  });
});

it('a package that is not there is named', async () => {
  await expect(loadOptional('magic()', ['no-such-package-here'])).rejects.toThrow(
    'magic() needs a package that is not installed: npm install no-such-package-here',
  );
});
