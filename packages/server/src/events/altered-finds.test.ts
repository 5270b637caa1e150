// Rows of the store that were changed after they were indexed: the other events are found all the same.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alteredEvents, ROW, otherByte } from '../testing/altered-events.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { finderOf } from '../testing/found-events.ts';

const { app } = startEventsApp();
const { change, threeOf } = alteredEvents(app);

const entries = (set: string) => `UPDATE entries SET ${set} WHERE event_id = ?`;
const contents = (set: string) => `UPDATE contents SET ${set} WHERE id = ${ROW}`;

const CHANGES: Record<string, string> = {
  'a byte of root2': entries(`root2 = ${otherByte('root2', 1)}`),
  'an entry that ends behind its id': entries('entry = substr(entry, 1, 52)'),
  'a byte of the label': entries(`entry = CAST(x'00' || substr(entry, 2) AS BLOB)`),
  'an index beyond 2^53': entries('leaf_index = 9223372036854775807'),
  'the index of no other': entries('leaf_index = 77'),
  'a classification beyond 2^53': entries('classification = 9223372036854775807'),
  'facts that are no JSON': contents(`text1 = x'7b'`),
  'facts that are no UTF-8': contents(`text1 = x'22ff22'`),
  'facts that are a list': contents(`text1 = x'5b5d'`),
  'facts without members': contents(`text1 = x'7b7d'`),
  'content that is no JSON': contents(`text2 = x'7b'`),
  'content that is a number': contents(`text2 = x'31'`),
  'content without members': contents(`text2 = x'7b7d'`),
  'no content': `DELETE FROM contents WHERE id = ${ROW}`,
};

const LISTS = [
  '',
  'limit=1',
  'sort=action&limit=1',
  'q=payload.amount:1',
  'q=invoice',
  'q=receivedAt:>2000-01-01',
  'q=-refund',
];

for (const [i, [what, statement]] of Object.entries(CHANGES).entries()) {
  test(`${what}: the events before and after it are found by every list and search`, async () => {
    const { tenant, ids, eventId } = await threeOf(`finds-${i}`);
    const finder = finderOf(app, tenant);
    await finder.caughtUp();
    change(eventId, statement);
    const others = [ids[0]!, ids[2]!];
    for (const query of LISTS) {
      const seen: string[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { code, body } = await finder.list(`${query}${cursor === '' ? '' : `&cursor=${cursor}`}`);
        assert.equal(code, '200', query);
        seen.push(...body.data.map((event) => event.eventId));
        ({ cursor } = body.pagination);
      }
      assert.deepEqual(seen.filter((id) => id !== eventId).toSorted(), others, query);
    }
    for (const query of ['invoice', 'payload.amount:1', 'payload.amount:>0']) {
      for (const sort of [[], [{ field: 'relevance' as const }]]) {
        const { code, body } = await finder.search({ query, sort, aggregations: ['byAction', 'byHour'] });
        assert.equal(code, '200', query);
        const seen = body.results.map((event) => event.eventId);
        assert.deepEqual(seen.filter((id) => id !== eventId).toSorted(), others, query);
      }
    }
  });
}
