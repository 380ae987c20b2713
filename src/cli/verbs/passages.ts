/**
 * `halfspace passages`: which runs of words many documents have that are otherwise different, as
 * licences, navigation and signatures. Shows what to take out of texts, and changes none.
 */

import { type Id, RowBatch } from '../../node';
import { checkNormalizations } from '../../text/normalize';
import type { LetterCase } from '../../text/tokens';
import type { Call } from '../call';
import { batchesOf, chooseId, chooseSource, openInput } from '../input/open-input';
import { checkMemory, readingBytes } from '../input/predicted-memory';
import { counted, grouped, percent } from '../output/figures';
import { openOutput } from '../output/rows';
import { EXAMPLES, type Passage, PassageFinder } from '../passages/passage-finder';

/** Reads the texts four times, with the same memory for any number of them. */
export async function run(call: Call): Promise<0> {
  const input = call.args.length > 1 ? call.args : call.onlyInput();
  if (input === '-') call.misuse('passages reads a file four times: name one, not -');
  const writer = await openOutput(call, { inputs: [input].flat() });
  const first = await openInput(call, input);
  const idColumn = chooseId(call, first);
  const [column] = chooseSource(call, first, ['text']).columns;
  await first.close();
  const finder = new PassageFinder({
    minWords: call.number('min-words') as number,
    limit: call.number('limit') as number,
    letterCase: call.text('case') as LetterCase,
    rules: checkNormalizations(call.list('normalize')),
    bytes: first.byteCount,
  });
  /** Reads all rows; the last reading needs ids, and says what was skipped. */
  let largest = 0;
  const eachText = async (take: (text: string, row: number, id: Id) => void, isLast = false) => {
    const idName = isLast ? idColumn : null;
    const reader = await openInput(call, input, [...new Set([column, idName ?? column])]);
    for await (const batch of batchesOf(call, reader, isLast)) {
      largest = Math.max(largest, batch.byteLength);
      const ids = idName === null ? null : batch.ids(idName);
      for (const [i, text] of batch.texts(column).entries()) {
        const row = batch.firstRow + i;
        take(text ?? '', row, ids?.[i] ?? row);
      }
    }
  };
  await eachText((text) => finder.count(text));
  const advice = 'take a part of the file';
  const parts = { ...finder.parts, reading: readingBytes(first, 'text', { byteLength: largest }) };
  checkMemory(call, finder.documents, { parts, advice });
  await eachText((text, row) => finder.enter(text, row));
  await eachText((text, row) => finder.propose(text, row));
  await eachText((text, row, id) => finder.compare(text, row, id), true);
  const found = finder.passages();
  await writer.write(passageRows(found, finder.words));
  await writer.close();
  saySummary(call, finder, found.length);
  return 0;
}

/** A row for each passage; `share` is that of all words which its occurrences are. */
function passageRows(found: readonly Passage[], words: number): RowBatch {
  const areNumbers = found.every(({ places }) => places.every(({ id }) => typeof id === 'number'));
  const idAt = ({ places }: Passage, i: number) => {
    const id = places[i]?.id ?? null;
    return areNumbers || id === null ? (id as number | null) : String(id);
  };
  const places = Array.from({ length: EXAMPLES }, (_, i) => {
    const suffix = i === 0 ? '' : `_${i + 1}`;
    return {
      [`id${suffix}`]: found.map((one) => idAt(one, i)),
      [`at${suffix}`]: found.map((one) => one.places[i]?.at ?? null),
    };
  });
  return RowBatch.of({
    documents: Uint32Array.from(found, (one) => one.documents),
    words: Uint32Array.from(found, (one) => one.words),
    characters: Uint32Array.from(found, ({ text }) => text.length),
    share: Float64Array.from(found, (one) => (one.documents * one.words) / words),
    ...Object.assign({}, ...places),
    text: found.map(({ text }) => text),
  });
}

/** What was found, and how much of the texts other documents have too. */
function saySummary(call: Call, finder: PassageFinder, found: number): void {
  const { documents, words, repeatedWords, thinned } = finder;
  const minWords = call.number('min-words');
  const share = percent(words === 0 ? 0 : repeatedWords / words);
  call.say(
    `${counted(documents, 'document')}, ${counted(words, 'word')}: at least ${share} of the ` +
      `words are in runs of ${minWords} or more that other documents have; ` +
      counted(found, 'passage'),
  );
  if (thinned === 1) return;
  call.say(
    `so much is repeated that one of ${grouped(thinned)} drawn runs was compared: short passages ` +
      'may be missing; a part of the file shows more of them',
  );
}
