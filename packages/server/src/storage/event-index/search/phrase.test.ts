// How much a phrase takes: terms that are looked up, lists of places that are read, and words that it ends with.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noting } from '../testing/noted-events.ts';
import { segmentOf } from '../testing/memory-pieces.ts';
import { eventsOf } from '../testing/searched-events.ts';
import { DocSet } from '../segments/doc-set.ts';
import type { Searched } from '../segments/searched.ts';
import type { Section } from '../segments/terms.ts';
import { evaluate } from './evaluate.ts';
import { findPhrase } from './phrase.ts';
import type { PhrasePlan } from './plan.ts';

/** More than a phrase may end with. */
const ENDINGS = 1500;
const SAME_WORDS = 300;

const events = eventsOf([
  noting('again '.repeat(SAME_WORDS)),
  noting('again and again'),
  noting('never again'),
  ...Array.from({ length: ENDINGS }, (_, i) => noting(`word zed${i} end`)),
]);
const section: Section = 'Internal';

interface Counts {
  terms: number;
  placesRead: number;
  visited: number;
  /** Words that are looked for, one after the other, in each doc. */
  steps: number;
}

/** The same, and what is asked of it. */
function counted(piece: Searched): { readonly piece: Searched; readonly counts: Counts } {
  const counts = { terms: 0, placesRead: 0, visited: 0, steps: 0 };
  const watched: Partial<Searched> = {
    firstIndex: piece.firstIndex,
    docs: piece.docs,
    traits: piece.traits,
    term(...asked) {
      counts.terms++;
      return piece.term(...asked);
    },
    docsOf: (...asked) => piece.docsOf(...asked),
    docsInRun: (...asked) => piece.docsInRun(...asked),
    async placesOf(...asked) {
      counts.placesRead++;
      const { places, ends } = await piece.placesOf(...asked);
      const get = (target: Uint32Array, name: string) => {
        counts.steps++;
        return Reflect.get(target, name, target) as unknown;
      };
      return { places, ends: new Proxy(ends, { get: get as never }) };
    },
    run: (asked, prefix, visit, from) =>
      piece.run(
        asked,
        prefix,
        (entry) => {
          counts.visited++;
          return visit(entry);
        },
        from,
      ),
  };
  return { piece: watched as Searched, counts };
}

const phraseOf = (words: readonly string[], isBeginning = false): PhrasePlan => ({
  of: 'Phrase',
  sections: [section],
  prefix: 'w',
  words,
  isBeginning,
});

async function find(plan: PhrasePlan) {
  const { piece, counts } = counted(segmentOf(events, 0));
  const { sure, possible } = await findPhrase(piece, section, plan, DocSet.all(piece.docs), () => {});
  return { sure: [...sure.list()], possible: [...possible.list()], counts };
}

test('a word that a phrase repeats two thousand times is looked up and read once', async () => {
  const { sure, counts } = await find(phraseOf(Array.from({ length: 2000 }, () => 'again')));
  assert.deepEqual([sure, counts.terms, counts.placesRead, counts.visited], [[], 1, 1, 0]);
  // In each of three docs no further than it stands there in a row, which is as often as a word is searched.
  assert.ok(counts.steps > 255 && counts.steps < 3 * 300, `${counts.steps} steps`);
  // Control: as often as it stands there, it is found, and words that differ are each looked up.
  const searched = await find(phraseOf(Array.from({ length: 200 }, () => 'again')));
  assert.deepEqual(searched.sure, [0]);
  const other = await find(phraseOf(['again', 'and', 'again']));
  assert.deepEqual([other.sure, other.counts.terms], [[1], 2]);
});

test('of the words that a phrase may end with no more are read than its limit; then its docs are looked at', async () => {
  const { sure, possible, counts } = await find(phraseOf(['word', 'zed'], true));
  assert.deepEqual([sure.length, possible.length], [0, ENDINGS]);
  assert.deepEqual(counts, { terms: 1, placesRead: 0, visited: 1001, steps: 0 });
  // Control: below the limit each is read, and all is sure.
  const few = await find(phraseOf(['word', 'zed1'], true));
  assert.deepEqual(few.sure, few.possible);
  assert.equal(few.sure.length, 1 + 10 + 100 + 500);
  assert.equal(few.counts.placesRead, 1 + few.sure.length);
});

test('a long run of terms is told now and then how long it takes, and stops when it is too long', async () => {
  const segment = segmentOf(
    eventsOf(Array.from({ length: 100 }, (_, i) => noting(wordsFrom(i * 200, 200)))),
    0,
  );
  const plan = { of: 'Run' as const, sections: [section], prefix: 'wzed' };
  let checks = 0;
  assert.equal((await evaluate(plan, segment, () => checks++)).sure.count, 100);
  // Control: it has more terms than are gone through at once.
  assert.ok(checks >= 3, `${checks} checks`);
  let left = 2;
  const stop = () => {
    if (left-- === 0) throw new Error('too long');
  };
  await assert.rejects(evaluate(plan, segment, stop), /too long/);
});

function wordsFrom(first: number, count: number): string {
  return Array.from({ length: count }, (_, i) => `zed${first + i}`).join(' ');
}
