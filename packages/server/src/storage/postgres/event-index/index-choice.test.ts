// What is asked for is found by an index, and little else is looked at, whether or not the database has looked at its tables.
// To read the terms of a doc, which are kept apart from it, takes longer than the database thinks.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Question } from '../../../events/event-index.ts';
import { parseQuery } from '../../../query/query-parser.ts';
import { shownEvent } from '../../../query/testing/shown-event.ts';
import { Deadline } from '../../../runtime/deadline.ts';
import { questionOf, type Said } from '../../event-index/testing/plain-definition.ts';
import { StoredEvents } from '../../rows/event-row.ts';
import { type Row, statement } from '../connection/database.ts';
import { partsOf } from '../schema/partitions.ts';
import { FrequentPlans } from './frequent-plans.ts';
import { FIRST_DOCS } from './first-docs.ts';
import { IndexReader } from './index-reader.ts';
import { IndexedLogs, NOW_MS } from './testing/indexed-log.ts';
import { TermsOfViews } from './views.ts';

const EVENTS = 4000;
const MINUTE_MS = 60_000;
const FIRST_MS = Date.UTC(2026, 0, 1);
const GATHERED_MAX = 100;

/** One in a hundred is rare; one in four is denied. */
function said(i: number): Said {
  const { eventId: _, ...event } = shownEvent({
    timestamp: new Date(FIRST_MS + i * MINUTE_MS).toISOString(),
    outcome: i % 4 === 0 ? 'Denied' : 'Success',
    context: {},
    payload: { note: i % 100 === 0 ? 'a rare refund' : 'a common refund', amount: i },
  });
  return event;
}

const LOOKED_AT = statement(
  `SELECT coalesce(sum(coalesce(seq_tup_read, 0)), 0)::integer AS gone_through,
     coalesce(sum(coalesce(idx_tup_fetch, 0)), 0)::integer AS fetched
   FROM pg_stat_xact_all_tables WHERE relname ~ '^(docs|entries|contents)'`,
);

let logs: IndexedLogs;
let tenant: string;
before(async () => {
  logs = await IndexedLogs.open();
  // It looks at them by itself in a while.
  for (const part of partsOf('docs')) await logs.raw(`ALTER TABLE ${part} SET (autovacuum_enabled = off)`);
  tenant = await logs.tenantWith(Array.from({ length: EVENTS }, (_, i) => said(i)));
});
after(() => logs?.[Symbol.asyncDispose]());

/** How many rows of docs and of the log were looked at for an answer, and how many events it has. */
async function lookedAtFor(
  asked: Partial<Question>,
  frequent = new FrequentPlans(),
  of = tenant,
): Promise<{ total: number; looked: number }> {
  const reading = {
    terms: new TermsOfViews(),
    frequent,
    stored: new StoredEvents(),
    gatheredMax: GATHERED_MAX,
  };
  return logs.database.inOneState({ role: 'Reader', tenants: [of] }, async (transaction) => {
    const reader = new IndexReader(transaction, new Deadline(), reading);
    const before = await transaction.query(LOOKED_AT);
    const { total } = await reader.find(of, questionOf({ rowsMax: 10, ...asked }), NOW_MS);
    const after = await transaction.query(LOOKED_AT);
    const counted = (column: string) => numberIn(after, column) - numberIn(before, column);
    assert.equal(counted('gone_through'), 0);
    return { total, looked: counted('fetched') };
  });
}

function numberIn([row]: readonly Row[], column: string): number {
  return Number(row?.[column]);
}

const asking = (text: string) => ({ query: parseQuery(text).query! });
const RARE = EVENTS / 100;
/** Total and page, the weights of words, and the few that every answer asks for; for each, the first docs are looked at. */
const FEW = 4 * RARE + 3 * FIRST_DOCS;
const MANY = 8 * GATHERED_MAX + 3 * FIRST_DOCS;
const hour = {
  from: new Date(FIRST_MS).toISOString(),
  to: new Date(FIRST_MS + 59 * MINUTE_MS).toISOString(),
};

const ASKED: Readonly<Record<string, { asked: Partial<Question>; total: number; lookedMax: number }>> = {
  'a rare word': { asked: asking('rare'), total: RARE, lookedMax: FEW },
  'a phrase': { asked: asking('"rare refund"'), total: RARE, lookedMax: FEW },
  'a rare word among many filters': {
    asked: { ...asking('rare'), filters: { outcomes: ['Denied'] } },
    total: RARE,
    lookedMax: FEW,
  },
  'counts of a rare word': {
    asked: { ...asking('rare'), aggregations: ['byAction', 'byOutcome'] },
    total: RARE,
    lookedMax: FEW + RARE,
  },
  'a field of the payload': { asked: asking(`payload.amount:>=${EVENTS - 40}`), total: 40, lookedMax: FEW },
  'one number of the payload': { asked: asking('payload.amount:1234.0'), total: 1, lookedMax: FEW },
  'an hour': { asked: { filters: { timeRange: hour } }, total: 60, lookedMax: FEW },
  // As many as are gathered, for the total and the weights; then the newest, in order.
  'a common word': { asked: asking('common'), total: GATHERED_MAX + 1, lookedMax: MANY },
};

for (const [state, sql] of [
  ['before the database has looked at its tables', undefined],
  ['after it', 'ANALYZE docs'],
] as const)
  test(`few rows are looked at for what is asked, ${state}`, async () => {
    if (sql !== undefined) await logs.raw(sql);
    for (const [name, { asked, total, lookedMax }] of Object.entries(ASKED)) {
      const found = await lookedAtFor(asked);
      assert.equal(found.total, total, name);
      assert.ok(found.looked <= lookedMax, `${name}: ${found.looked} rows are looked at`);
    }
  });

test('what is known to be found often is not counted again, and what is not is', async () => {
  const frequent = new FrequentPlans();
  const asked = { ...asking('common'), rowsMax: 1 };
  const first = await lookedAtFor(asked, frequent);
  const second = await lookedAtFor(asked, frequent);
  assert.deepEqual([first.total, second.total], [GATHERED_MAX + 1, GATHERED_MAX + 1]);
  assert.ok(first.looked - second.looked >= GATHERED_MAX, `${first.looked}, then ${second.looked}`);
  const rare = [await lookedAtFor(asking('rare'), frequent), await lookedAtFor(asking('rare'), frequent)];
  assert.deepEqual(rare[0], rare[1]);
  // Of another tenant, the same word is another plan.
  const other = await logs.tenantWith([said(1)]);
  assert.equal((await lookedAtFor(asked, frequent, other)).total, 1);
});

test('so many plans are remembered, those that were asked for last, as long as the view is not put back', () => {
  const frequent = new FrequentPlans();
  for (let i = 0; i < 10_000; i++) frequent.add(`plan ${i}`, 20_000);
  assert.ok(frequent.has('plan 0', 20_000));
  frequent.add('one more', 20_000);
  assert.deepEqual(
    ['plan 0', 'plan 1', 'plan 2', 'one more'].map((plan) => frequent.has(plan, 20_001)),
    [true, false, true, true],
  );
  assert.deepEqual(
    [19_999, 20_000].map((nextIndex) => frequent.has('plan 0', nextIndex)),
    [false, false],
  );
});
