// Words that stand side by side: first the docs that have all of them, then, in these, the places of each.

import { DocSet, DocSetBuilder, lowerBound } from '../segments/doc-set.ts';
import { allOf, type PlacesInDocs, type Searched, type TermEntry } from '../segments/searched.ts';
import type { Section } from '../segments/terms.ts';
import type { PhrasePlan } from './plan.ts';

/** So many take less than some milliseconds. */
const WORDS_UNCHECKED = 256;

/** No docs but those of `among` are looked at. `check` throws when the time for the search is over. */
export async function findPhrase(
  segment: Searched,
  section: Section,
  { prefix, words, isBeginning }: PhrasePlan,
  among: DocSet,
  check: () => void,
): Promise<DocSet> {
  const whole = isBeginning ? words.slice(0, -1) : words;
  const found = await allOf(whole.map((word) => segment.term(section, prefix + word)));
  const entries = found.filter((entry) => entry?.hasPlaces) as TermEntry[];
  if (entries.length < whole.length) return DocSet.none(segment.docs);
  const sets = [among, ...(await segment.docsOf(section, entries))];
  const [fewest, ...others] = sets.toSorted((a, b) => a.count - b.count);
  const all = others.reduce((a, b) => a.and(b), fewest!);
  const endings =
    isBeginning && all.count > 0 ? await endingsOf(segment, section, prefix + words.at(-1)!) : [];
  const docs = isBeginning ? await docsOfAny(segment, section, endings, all, check) : all;
  if (docs.count === 0) return docs;
  const list = docs.list();
  const places = await allOf(entries.map((word) => segment.placesOf(section, word, list)));
  if (isBeginning) places.push(await placesOfAny(segment, section, endings, docs, check));
  return DocSet.ofList(segment.docs, following(list, places));
}

async function endingsOf(segment: Searched, section: Section, beginning: string): Promise<TermEntry[]> {
  const endings: TermEntry[] = [];
  await segment.run(section, beginning, (entry) => {
    if (entry.hasPlaces) endings.push(entry);
    return true;
  });
  return endings;
}

/** Those of them that have one of the words. */
async function docsOfAny(
  segment: Searched,
  section: Section,
  words: readonly TermEntry[],
  among: DocSet,
  check: () => void,
): Promise<DocSet> {
  const union = new DocSetBuilder(segment.docs);
  for (let from = 0; from < words.length; from += WORDS_UNCHECKED) {
    check();
    for (const docs of await segment.docsOf(section, words.slice(from, from + WORDS_UNCHECKED)))
      union.addSet(docs.and(among));
  }
  return union.take();
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
function following(docs: Uint32Array, words: readonly PlacesInDocs[]): Uint32Array {
  const before = words.length;
  const marks = new Uint32Array(before + 1 + words.reduce((most, word) => Math.max(most, highest(word)), 0));
  const found = new Uint32Array(docs.length);
  let count = 0;
  for (let doc = 0; doc < docs.length; doc++) {
    // No other doc has the same marks, so they need not be taken away.
    let mark = doc * words.length;
    let isFound = false;
    for (let word = 0; word < words.length; word++) {
      const { places, ends } = words[word]!;
      const end = ends[doc]!;
      const isLast = word === words.length - 1;
      for (let at = doc === 0 ? 0 : ends[doc - 1]!; at < end; at++) {
        const begin = places[at]! - word + before;
        if (word > 0 && marks[begin] !== mark) continue;
        marks[begin] = mark + 1;
        if (isLast) isFound = true;
      }
      mark++;
    }
    if (isFound) found[count++] = docs[doc]!;
  }
  return found.slice(0, count);
}

function highest({ places, ends }: PlacesInDocs): number {
  const end = ends.at(-1) ?? 0;
  let most = 0;
  for (let at = 0; at < end; at++) if (places[at]! > most) most = places[at]!;
  return most;
}
