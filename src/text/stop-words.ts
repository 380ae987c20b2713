/** Words too common to tell texts apart, by language: the lists of the package `stopword`. */

import { wrongType, wrongValue } from '../base/check';
import { loadOptional } from './optional';

/** Two letters of ISO 639-1 to the three of 639-3, by which the package names its lists. */
const THREE_LETTERS: Record<string, string> = Object.fromEntries(
  `af:afr ar:ara bn:ben br:bre bg:bul ca:cat cs:ces da:dan de:deu el:ell en:eng eo:epo et:est eu:eus
   fa:fas fi:fin fr:fra ga:gle gl:glg gu:guj ha:hau he:heb hi:hin hr:hrv hu:hun hy:hye id:ind it:ita
   ja:jpn ko:kor ku:kur la:lat lv:lav lt:lit mr:mar ms:msa my:mya nl:nld no:nob pl:pol pt:por ro:ron
   ru:rus sk:slk sl:slv so:som st:sot es:spa sw:swa sv:swe tl:tgl th:tha tr:tur uk:ukr ur:urd vi:vie
   yo:yor zh:zho zu:zul`
    .trim()
    .split(/\s+/)
    .map((pair) => pair.split(':')),
);

/** The stop words of a language, by its code of two or three letters: 'en' or 'eng'. */
export async function stopWords(language: string): Promise<readonly string[]> {
  if (typeof language !== 'string') throw wrongType('language', 'a code such as "en"', language);
  const { module } = await loadOptional('stopWords()', ['stopword']);
  const name = THREE_LETTERS[language] ?? language;
  const list = Object.hasOwn(module, name) ? module[name] : undefined;
  if (Array.isArray(list) && Object.values(THREE_LETTERS).includes(name)) return list;
  const known = Object.keys(THREE_LETTERS).filter((two) =>
    Array.isArray(module[THREE_LETTERS[two]]),
  );
  throw wrongValue('language', `one of ${known.join(', ')}`, language);
}
