// Words that stand side by side: first the docs that have all of them, then, in these, the places of each.

import { DocSet } from '../segments/doc-set.ts';
import { allOf, type PlacesInDocs, type Searched, type TermEntry } from '../segments/searched.ts';
import type { Section } from '../segments/terms.ts';
import type { PhrasePlan } from './plan.ts';

export async function findPhrase(
  segment: Searched,
  section: Section,
  { prefix, words, isBeginning }: PhrasePlan,
): Promise<DocSet> {
  const whole = isBeginning ? words.slice(0, -1) : words;
  const found = await allOf(whole.map((word) => segment.term(section, prefix + word)));
  const entries = found.filter((entry) => entry?.hasPlaces) as TermEntry[];
  const none = DocSet.none(segment.docs);
  if (entries.length < whole.length) return none;
  if (!isBeginning) return sideBySide(segment, section, entries);
  const endings: TermEntry[] = [];
  await segment.run(section, prefix + words.at(-1)!, (entry) => {
    if (entry.hasPlaces) endings.push(entry);
    return true;
  });
  let docs = none;
  for (const ending of endings) docs = docs.or(await sideBySide(segment, section, [...entries, ending]));
  return docs;
}

async function sideBySide(segment: Searched, section: Section, words: readonly TermEntry[]): Promise<DocSet> {
  const sets = await segment.docsOf(section, words);
  const [fewest, ...others] = sets.toSorted((a, b) => a.count - b.count);
  const all = others.reduce((a, b) => a.and(b), fewest!);
  if (all.count === 0) return all;
  const [first, ...rest] = await allOf(words.map((word) => segment.placesOf(section, word, all)));
  const list = all.list();
  const found = list.filter((_, i) => followEachOther(first!, rest, i));
  return DocSet.ofList(segment.docs, found);
}

/** Whether, in one doc, some place of the first word has the others right behind it. */
function followEachOther(first: PlacesInDocs, rest: readonly PlacesInDocs[], doc: number): boolean {
  for (let at = doc === 0 ? 0 : first.ends[doc - 1]!; at < first.ends[doc]!; at++) {
    const place = first.places[at]!;
    if (rest.every((word, i) => hasPlace(word, doc, place + 1 + i))) return true;
  }
  return false;
}

function hasPlace({ ends, places }: PlacesInDocs, doc: number, place: number): boolean {
  const end = ends[doc]!;
  for (let at = doc === 0 ? 0 : ends[doc - 1]!; at < end && places[at]! <= place; at++)
    if (places[at] === place) return true;
  return false;
}
