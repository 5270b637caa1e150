// Words that stand side by side: first the docs that have all of them, then, in these, the places of each.

import { DocSet } from '../segments/doc-set.ts';
import { allOf, type PlacesInDocs, type Searched, type TermEntry } from '../segments/searched.ts';
import type { Section } from '../segments/terms.ts';
import type { PhrasePlan } from './plan.ts';

/** No docs but those of `among` are looked at. */
export async function findPhrase(
  segment: Searched,
  section: Section,
  { prefix, words, isBeginning }: PhrasePlan,
  among: DocSet,
): Promise<DocSet> {
  const whole = isBeginning ? words.slice(0, -1) : words;
  const found = await allOf(whole.map((word) => segment.term(section, prefix + word)));
  const entries = found.filter((entry) => entry?.hasPlaces) as TermEntry[];
  const none = DocSet.none(segment.docs);
  if (entries.length < whole.length) return none;
  if (!isBeginning) return sideBySide(segment, section, entries, among);
  const endings: TermEntry[] = [];
  await segment.run(section, prefix + words.at(-1)!, (entry) => {
    if (entry.hasPlaces) endings.push(entry);
    return true;
  });
  let docs = none;
  for (const ending of endings)
    docs = docs.or(await sideBySide(segment, section, [...entries, ending], among));
  return docs;
}

async function sideBySide(
  segment: Searched,
  section: Section,
  words: readonly TermEntry[],
  among: DocSet,
): Promise<DocSet> {
  const sets = [among, ...(await segment.docsOf(section, words))];
  const [fewest, ...others] = sets.toSorted((a, b) => a.count - b.count);
  const all = others.reduce((a, b) => a.and(b), fewest!);
  if (all.count === 0) return all;
  const list = all.list();
  const places = await allOf(words.map((word) => segment.placesOf(section, word, list)));
  return DocSet.ofList(segment.docs, following(list, places));
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
