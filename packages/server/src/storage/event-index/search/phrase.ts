// Words that stand side by side: first the docs that have all of them, then, in these, the places of each.

import { DocSet, lowerBound } from '../segments/doc-set.ts';
import { allOf, type PlacesInDocs, type Searched, type TermEntry } from '../segments/searched.ts';
import type { Section } from '../segments/terms.ts';
import type { Finding } from './evaluate.ts';
import type { PhrasePlan } from './plan.ts';

/** So many take a few milliseconds. */
const WORDS_UNCHECKED = 256;
const DOCS_UNCHECKED = 1024;
/** Of more words the places are not read. */
const ENDINGS_MAX = 1000;

/**
 * No docs but those of `among` are looked at. `check` throws when the time for the search is over. Of a beginning that very
 * many words have, only the docs are told that have the words at all.
 */
export async function findPhrase(
  segment: Searched,
  section: Section,
  { prefix, words, isBeginning }: PhrasePlan,
  among: DocSet,
  check: () => void,
): Promise<Finding> {
  const exactly = (docs: DocSet) => ({ sure: docs, possible: docs });
  const none = DocSet.none(segment.docs);
  const whole = isBeginning ? words.slice(0, -1) : words;
  const distinct = [...new Set(whole)];
  const found = await allOf(distinct.map((word) => segment.term(section, prefix + word)));
  const entries = found.filter((entry) => entry?.hasPlaces) as TermEntry[];
  if (entries.length < distinct.length) return exactly(none);
  const sets = [among, ...(await segment.docsOf(section, entries))];
  const [fewest, ...others] = sets.toSorted((a, b) => a.count - b.count);
  const all = others.reduce((a, b) => a.and(b), fewest!);
  if (all.count === 0) return exactly(none);
  const beginning = isBeginning ? prefix + words.at(-1)! : undefined;
  const docs =
    beginning === undefined ? all : all.and(await segment.docsInRun(section, { prefix: beginning }, check));
  if (docs.count === 0) return exactly(none);
  const endings = beginning === undefined ? [] : await endingsOf(segment, section, beginning);
  if (endings.length > ENDINGS_MAX) return { sure: none, possible: docs };
  const list = docs.list();
  // A word that comes more than once is read once.
  const own = await allOf(entries.map((word) => segment.placesOf(section, word, list)));
  const places = whole.map((word) => own[distinct.indexOf(word)]!);
  if (isBeginning) places.push(await placesOfAny(segment, section, endings, docs, check));
  return exactly(DocSet.ofList(segment.docs, following(list, places, check)));
}

/** One more than the limit where there are more. */
async function endingsOf(segment: Searched, section: Section, beginning: string): Promise<TermEntry[]> {
  const endings: TermEntry[] = [];
  await segment.run(section, beginning, (entry) => {
    if (entry.hasPlaces) endings.push(entry);
    return endings.length <= ENDINGS_MAX;
  });
  return endings;
}

/** The places of all these words together, in docs that have some of them. */
async function placesOfAny(
  segment: Searched,
  section: Section,
  words: readonly TermEntry[],
  among: DocSet,
  check: () => void,
): Promise<PlacesInDocs> {
  const list = among.list();
  const byDoc = Array.from(list, (): number[] => []);
  for (const [i, word] of words.entries()) {
    if (i % WORDS_UNCHECKED === 0) check();
    const [docs] = await segment.docsOf(section, [word]);
    const own = docs!.and(among).list();
    if (own.length === 0) continue;
    const { places, ends } = await segment.placesOf(section, word, own);
    for (let doc = 0, at = 0; doc < own.length; doc++) {
      const of = byDoc[lowerBound(list, own[doc]!)]!;
      for (; at < ends[doc]!; at++) of.push(places[at]!);
    }
  }
  let end = 0;
  return {
    ends: Uint32Array.from(byDoc, (own) => (end += own.length)),
    places: Uint32Array.from(byDoc.flat()),
  };
}

/**
 * The docs in which the words follow each other. Each place at which a phrase may begin is marked by the first word, and by
 * each further word in its turn where the one before has marked it: a phrase of common words is looked for in hundreds of
 * thousands of docs, and so each place is looked at once.
 */
function following(docs: Uint32Array, words: readonly PlacesInDocs[], check: () => void): Uint32Array {
  const before = words.length;
  const most = Math.max(0, ...Array.from(new Set(words), highest));
  const marks = new Uint32Array(before + 1 + most);
  const found = new Uint32Array(docs.length);
  let count = 0;
  for (let doc = 0; doc < docs.length; doc++) {
    if (doc % DOCS_UNCHECKED === 0) check();
    // No other doc has the same marks, so they need not be taken away.
    let mark = doc * words.length;
    let isFound = true;
    // Where a word follows nothing, no further one does: a query may repeat a word more often than any event has it.
    for (let word = 0; word < words.length && isFound; word++) {
      const { places, ends } = words[word]!;
      const end = ends[doc]!;
      isFound = false;
      for (let at = doc === 0 ? 0 : ends[doc - 1]!; at < end; at++) {
        const begin = places[at]! - word + before;
        if (word > 0 && marks[begin] !== mark) continue;
        marks[begin] = mark + 1;
        isFound = true;
      }
      mark++;
    }
    if (isFound) found[count++] = docs[doc]!;
  }
  return found.slice(0, count);
}

function highest({ places, ends }: PlacesInDocs): number {
  const end = ends[ends.length - 1] ?? 0;
  let most = 0;
  for (let at = 0; at < end; at++) if (places[at]! > most) most = places[at]!;
  return most;
}
