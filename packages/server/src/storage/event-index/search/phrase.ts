// Words that stand side by side: first the docs that have all of them, then, in these, the places of each.

import { DocSet } from '../segments/doc-set.ts';
import type { PhrasePlan } from './plan.ts';
import { allOf, type Searched, type TermEntry } from '../segments/searched.ts';
import type { Section } from '../segments/terms.ts';

export async function findPhrase(
  segment: Searched,
  section: Section,
  { prefix, words, isBeginning }: PhrasePlan,
): Promise<DocSet> {
  const whole = isBeginning ? words.slice(0, -1) : words;
  const found = await allOf(whole.map((word) => segment.term(section, prefix + word)));
  const entries = found.filter((entry) => entry?.hasPlaces);
  const none = DocSet.none(segment.docs);
  if (entries.length < whole.length) return none;
  const lists = await Promise.all(entries.map((entry) => placedDocs(segment, section, entry!)));
  if (!isBeginning) return withAll(segment.docs, lists);
  const endings: TermEntry[] = [];
  await segment.run(section, prefix + words.at(-1)!, (entry) => {
    if (entry.hasPlaces) endings.push(entry);
    return true;
  });
  let docs = none;
  for (const ending of endings)
    docs = docs.or(withAll(segment.docs, [...lists, await placedDocs(segment, section, ending)]));
  return docs;
}

/** The docs of a word, and its places in each. */
interface PlacedDocs {
  readonly docs: Uint32Array;
  readonly places: readonly (readonly number[])[];
}

async function placedDocs(segment: Searched, section: Section, entry: TermEntry): Promise<PlacedDocs> {
  const [docs, places] = await Promise.all([
    segment.docsOf(section, [entry]),
    segment.placesOf(section, entry),
  ]);
  return { docs: docs[0]!.list(), places };
}

/** The docs in which each word has a place behind one of the word before. */
function withAll(docs: number, [first, ...rest]: readonly PlacedDocs[]): DocSet {
  let followed = first!;
  for (const next of rest) followed = behind(followed, next);
  return DocSet.ofList(
    docs,
    followed.docs.filter((_, i) => followed.places[i]!.length > 0),
  );
}

function behind(words: PlacedDocs, next: PlacedDocs): PlacedDocs {
  const docs: number[] = [];
  const places: number[][] = [];
  for (let i = 0, j = 0; i < words.docs.length && j < next.docs.length; ) {
    const [doc, other] = [words.docs[i]!, next.docs[j]!];
    if (doc === other) {
      const ends = endsOf(words.places[i]!, next.places[j]!);
      if (ends.length > 0) {
        docs.push(doc);
        places.push(ends);
      }
    }
    if (doc <= other) i++;
    if (other <= doc) j++;
  }
  return { docs: Uint32Array.from(docs), places };
}

/** The places of the next word that are right behind one of the first. Both are sorted. */
function endsOf(first: readonly number[], next: readonly number[]): number[] {
  const ends: number[] = [];
  for (let i = 0, j = 0; i < first.length && j < next.length; ) {
    const wanted = first[i]! + 1;
    if (next[j] === wanted) ends.push(wanted);
    if (wanted <= next[j]!) i++;
    else j++;
  }
  return ends;
}
