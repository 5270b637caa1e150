// How the views come after the log: what was in them is never lost, doubled or half there.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '@tallystick/contract';
import { shownEvent } from '../../../query/testing/shown-event.ts';
import { parseQuery } from '../../../query/query-parser.ts';
import type { Said } from '../../event-index/testing/plain-definition.ts';
import { IndexedLog, requireFound } from './testing/indexed-log.ts';

const NOW_MS = Date.UTC(2026, 5, 1);
const NO_TIME = 'no time at all';

function events(count: number, note = 'refund'): Said[] {
  return Array.from({ length: count }, (_, i) => {
    // Each gets an id of its own.
    const { eventId: _id, ...said } = shownEvent({ context: {}, payload: { note, number: i } });
    return said;
  });
}

const ALL_LETTERS = { way: 'Falling', beyond: undefined, limit: 10 } as const;

const asking = (text: string) => ({ query: parseQuery(text).query! });

test('a turn that fails leaves nothing behind, and the next one takes the same events', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', events(500));
  // As if the disk were full in the middle of the portion.
  const pages = log.views.prepare('PRAGMA page_count').get()?.['page_count'];
  log.views.exec(`PRAGMA max_page_count = ${String(pages)}`);
  assert.throws(() => log.follow(), /full/);
  assert.equal(log.find('acme').total, 0);
  assert.equal(log.find('acme').state.pendingEvents, 500);
  log.views.exec('PRAGMA max_page_count = 1000000');
  log.follow();
  assert.equal(log.find('acme').total, 500);
  assert.deepEqual(log.find('acme').state, {
    generation: 1,
    indexedEvents: 500,
    isRebuilding: false,
    pendingEvents: 0,
    lagMs: 0,
  });
});

test('goes on after a restart where it was', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', events(3));
  log.follow();
  assert.equal(log.reopen(), undefined);
  await log.append('acme', events(2, 'later'));
  log.follow();
  assert.equal(log.find('acme').total, 5);
  assert.equal(log.find('acme', asking('later')).total, 2);
});

test('views of another log, or that are no views at all, are thrown away and made again', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', events(3));
  log.follow();
  log.views.exec("UPDATE meta SET value = zeroblob(32) WHERE name = 'leaf'");
  assert.match(log.reopen() ?? '', /not the one that it followed/);
  assert.equal(log.find('acme').total, 0);
  log.follow();
  assert.equal(log.find('acme').total, 3);
  log.views.exec('PRAGMA user_version = 99');
  assert.match(log.reopen() ?? '', /version 99/);
  log.follow();
  assert.equal(log.find('acme', asking('refund')).total, 3);
});

test('a view is made anew behind the one that answers, which then goes away without a trace', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', events(2500));
  await log.append('other', events(10));
  log.follow();
  const tenant = log.tenantNumber('acme');
  const request = { operationId: '01KE0000000000000000000042', requestedAtMs: NOW_MS, requestedBy: 'key:1' };
  assert.deepEqual(log.follower.beginRebuild(tenant, request), {
    ...request,
    processedEvents: 0,
    totalEvents: 2500,
    startedAtMs: undefined,
    completedAtMs: undefined,
  });
  assert.equal(log.follower.beginRebuild(tenant, { ...request, operationId: 'another' }), undefined);
  let turns = 0;
  const generations = new Set<number>();
  for (let isMore = true; isMore; turns++) {
    // Also what is appended meanwhile is there at once.
    if (turns === 1) await log.append('acme', events(3, 'meanwhile'));
    ({ isMore } = log.follower.turn(NOW_MS));
    const { total, state } = log.find('acme', asking('refund'));
    assert.equal(total, 2500);
    generations.add(state.generation);
  }
  assert.deepEqual([...generations], [1, 2]);
  assert.deepEqual(log.follower.findRebuild(tenant, request.operationId), {
    ...request,
    processedEvents: 2503,
    totalEvents: 2503,
    startedAtMs: NOW_MS,
    completedAtMs: NOW_MS,
  });
  assert.equal(log.follower.findRebuild(log.tenantNumber('other'), request.operationId), undefined);
  assert.equal(log.find('acme', asking('meanwhile')).total, 3);
  assert.equal(log.find('other').total, 10);
  const views = log.views.prepare('SELECT count(*) AS count FROM views').get();
  const docs = log.views.prepare('SELECT count(*) AS count FROM docs').get();
  const words = log.views.prepare("SELECT count(*) AS count FROM words WHERE words MATCH '1_*'").get();
  assert.deepEqual([views?.['count'], docs?.['count'], words?.['count']], [2, 2513, 0]);
});

test('an event that cannot be indexed is set aside with the reason, and holds up no other', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', [...events(1), { ...events(1)[0]!, timestamp: NO_TIME }, ...events(1)]);
  const { setAside } = log.follower.turn(NOW_MS);
  assert.deepEqual(setAside, [
    { tenantId: 'acme', sequence: 2, reason: 'the time no time at all cannot be told' },
  ]);
  assert.equal(log.find('acme').total, 2);
});

test('a rebuild goes on after a restart', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', events(2500));
  log.follow();
  const tenant = log.tenantNumber('acme');
  const operationId = '01KE0000000000000000000042';
  log.follower.beginRebuild(tenant, { operationId, requestedAtMs: NOW_MS, requestedBy: 'key:1' });
  log.follower.turn(NOW_MS);
  const begun = log.follower.findRebuild(tenant, operationId);
  assert.deepEqual([begun?.processedEvents, begun?.startedAtMs], [1000, NOW_MS]);
  assert.equal(log.reopen(), undefined);
  assert.deepEqual(log.follower.findRebuild(tenant, operationId), begun);
  log.follow();
  const { startedAtMs, completedAtMs } = log.follower.findRebuild(tenant, operationId)!;
  assert.deepEqual([startedAtMs, completedAtMs], [NOW_MS, NOW_MS]);
  assert.deepEqual([log.find('acme').total, log.find('acme').state.generation], [2500, 2]);
});

test('a view that is made anew is a later one, also where nothing was indexed before', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', events(2500));
  const tenant = log.tenantNumber('acme');
  log.follower.beginRebuild(tenant, { operationId: 'o', requestedAtMs: NOW_MS, requestedBy: 'key:1' });
  log.follow();
  assert.deepEqual([log.find('acme').total, log.find('acme').state.generation], [2500, 2]);
});

test('a rebuild does not end before it began, wherever the clock was set meanwhile', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', events(10));
  log.follow();
  const tenant = log.tenantNumber('acme');
  log.follower.beginRebuild(tenant, {
    operationId: 'o',
    requestedAtMs: NOW_MS + 60_000,
    requestedBy: 'key:1',
  });
  log.follow();
  const { startedAtMs, completedAtMs } = log.follower.findRebuild(tenant, 'o')!;
  assert.deepEqual([startedAtMs, completedAtMs], [NOW_MS + 60_000, NOW_MS + 60_000]);
});

test('a rebuild begins with the turn that takes it up, and ends when its last turn does', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', events(1500));
  log.follow();
  const tenant = log.tenantNumber('acme');
  log.follower.beginRebuild(tenant, { operationId: 'o', requestedAtMs: NOW_MS, requestedBy: 'key:1' });
  assert.equal(log.follower.findRebuild(tenant, 'o')?.startedAtMs, undefined);
  log.follower.turn(NOW_MS + 100);
  log.clock.now = () => NOW_MS + 900;
  log.follower.turn(NOW_MS + 200);
  const { startedAtMs, completedAtMs } = log.follower.findRebuild(tenant, 'o')!;
  assert.deepEqual([startedAtMs, completedAtMs], [NOW_MS + 100, NOW_MS + 900]);
});

test('what was set aside can be tried again, and is gone once it is in', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', [...events(1), { ...events(1)[0]!, timestamp: NO_TIME }]);
  log.follow();
  const tenant = log.tenantNumber('acme');
  const letter = log.follower.letters.list(tenant, ALL_LETTERS)[0]!;
  assert.equal(letter.attempts, 3);
  assert.equal(log.follower.reprocess(tenant, 'another', NOW_MS), undefined);
  assert.deepEqual(log.follower.reprocess(tenant, letter.messageId, NOW_MS + 5), letter);
  const again = { ...letter, attempts: 6, lastFailedAtMs: NOW_MS + 5 };
  assert.deepEqual(log.follower.letters.list(tenant, ALL_LETTERS), [again]);
  assert.deepEqual(log.follower.letters.list(log.tenantNumber('acme') + 1, ALL_LETTERS), []);
  // The event itself cannot change; here it does, to see that it would be found then.
  log.rewrite(2, NO_TIME, '2026-01-02T03:04:05.000Z');
  log.follower.reprocess(tenant, letter.messageId, NOW_MS + 6);
  assert.equal(log.follower.letters.count(tenant), 0);
  assert.equal(log.find('acme').total, 2);
});

test('what was set aside is let go when its time is over, also where nothing is appended any more', async () => {
  await using log = await IndexedLog.open();
  const unreadable = { ...events(1)[0]!, timestamp: NO_TIME };
  await log.append('acme', [unreadable, unreadable]);
  log.follower.turn(NOW_MS);
  const tenant = log.tenantNumber('acme');
  const [tried, left] = log.follower.letters.list(tenant, ALL_LETTERS);
  log.follower.reprocess(tenant, tried!.messageId, NOW_MS + 1);
  const held = () => log.follower.letters.list(tenant, ALL_LETTERS).map(({ messageId }) => messageId);
  log.follower.turn(NOW_MS + LIMITS.deadLetterLifetimeMs - 1);
  assert.deepEqual(held(), [tried!.messageId, left!.messageId]);
  // One that was tried again is held from that time on.
  log.follower.turn(NOW_MS + LIMITS.deadLetterLifetimeMs);
  assert.deepEqual(held(), [tried!.messageId]);
  const { isMore, taken } = log.follower.turn(NOW_MS + LIMITS.deadLetterLifetimeMs + 1);
  assert.deepEqual([held(), isMore, taken], [[], false, 0]);
});

test('what is tried again while a view is made anew is in that one too, if it has passed the event', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', [{ ...events(1)[0]!, timestamp: NO_TIME }, ...events(1500)]);
  log.follow();
  const tenant = log.tenantNumber('acme');
  log.follower.beginRebuild(tenant, { operationId: 'o', requestedAtMs: NOW_MS, requestedBy: 'key:1' });
  log.follower.turn(NOW_MS);
  log.rewrite(1, NO_TIME, '2026-01-02T03:04:05.000Z');
  const wish = { way: 'Falling', beyond: undefined, limit: 10 } as const;
  log.follower.reprocess(tenant, log.follower.letters.list(tenant, wish)[0]!.messageId, NOW_MS);
  assert.equal(log.find('acme').total, 1501);
  log.follow();
  assert.deepEqual([log.find('acme').total, log.find('acme').state.generation], [1501, 2]);
});

test('what only the view that is being made lacks is tried again there', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', events(1500));
  log.follow();
  const tenant = log.tenantNumber('acme');
  const { timestamp } = events(1)[0]!;
  log.rewrite(1, timestamp, NO_TIME);
  log.follower.beginRebuild(tenant, { operationId: 'o', requestedAtMs: NOW_MS, requestedBy: 'key:1' });
  log.follower.turn(NOW_MS);
  log.rewrite(1, NO_TIME, timestamp);
  const wish = { way: 'Falling', beyond: undefined, limit: 10 } as const;
  log.follower.reprocess(tenant, log.follower.letters.list(tenant, wish)[0]!.messageId, NOW_MS);
  assert.equal(log.follower.letters.count(tenant), 0);
  log.follow();
  assert.deepEqual([log.find('acme').total, log.find('acme').state.generation], [1500, 2]);
});

test('control: a position that is saved without its events loses them, and the comparison sees it', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', events(3));
  log.follow();
  assert.equal(requireFound(log, 'acme', {}), 3);
  await log.append('acme', events(2, 'lost'));
  // As a follower would leave it that was killed between a commit of its position and one of its events.
  log.savePosition(5);
  log.follow();
  assert.throws(() => requireFound(log, 'acme', {}), /found 3,2,1 \(3\), not 5,4,3,2,1/);
});

test('no word of content that is Confidential or Secret stands in the views', async () => {
  await using log = await IndexedLog.open();
  const secret = { ...events(1, 'xyzzyplugh')[0]!, classification: 'Secret' as const };
  const confidential = { ...events(1, 'quuxcorge')[0]!, classification: 'Confidential' as const };
  await log.append('acme', [secret, confidential, ...events(1, 'graultgarply')]);
  log.follow();
  for (const word of ['xyzzyplugh', 'quuxcorge', 'graultgarply'])
    assert.equal(log.find('acme', asking(word)).total, 1, word);
  const blocks = log.views.prepare('SELECT block FROM words_data').all();
  const bytes = Buffer.concat(blocks.map(({ block }) => block as Uint8Array)).toString('latin1');
  assert.ok(bytes.includes('graultgarply'));
  assert.ok(!bytes.includes('xyzzy') && !bytes.includes('quux'));
});

test('a tenant finds nothing of another, whatever it asks', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', events(3, 'only here'));
  await log.append('other', events(2, 'only there'));
  log.follow();
  assert.equal(log.find('acme', asking('only')).total, 3);
  assert.equal(log.find('other', asking('only')).total, 2);
  assert.equal(log.find('acme', asking('there')).total, 0);
  assert.equal(log.find('nobody', asking('only')).total, 0);
});

test('a search that is told to stop stops', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', events(2000));
  log.follow();
  const flag = new Int32Array(new SharedArrayBuffer(4));
  flag[0] = 1;
  assert.throws(() => log.findUntil('acme', flag), /stopped/);
  flag[0] = 0;
  assert.equal(log.findUntil('acme', flag).total, 2000);
});
