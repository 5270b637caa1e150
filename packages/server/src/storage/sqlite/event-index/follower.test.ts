// How the views come after the log: what was in them is never lost, doubled or half there.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shownEvent } from '../../../query/testing/shown-event.ts';
import { parseQuery } from '../../../query/query-parser.ts';
import type { Said } from '../../event-index/testing/plain-definition.ts';
import { IndexedLog, requireFound } from './testing/indexed-log.ts';

const NO_TIME = 'no time at all';

function events(count: number, note = 'refund'): Said[] {
  return Array.from({ length: count }, (_, i) => {
    // Each gets an id of its own.
    const { eventId: _id, ...said } = shownEvent({ context: {}, payload: { note, number: i } });
    return said;
  });
}

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
  let turns = 0;
  const generations = new Set<number>();
  for (let isMore = true; isMore; turns++) {
    // Also what is appended meanwhile is there at once.
    if (turns === 1) await log.append('acme', events(3, 'meanwhile'));
    const { processedEvents, totalEvents, isDone } = log.follower.build(tenant);
    assert.ok(processedEvents <= totalEvents);
    log.follow();
    const { total, state } = log.find('acme', asking('refund'));
    assert.equal(total, 2500);
    assert.equal(state.isRebuilding, !isDone);
    generations.add(state.generation);
    isMore = !isDone;
  }
  assert.deepEqual([...generations], [1, 2]);
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
  const { setAside } = log.follower.turn();
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
  assert.deepEqual(log.follower.build(tenant), { processedEvents: 1000, totalEvents: 2500, isDone: false });
  assert.equal(log.reopen(), undefined);
  assert.deepEqual(log.follower.build(tenant), { processedEvents: 2000, totalEvents: 2500, isDone: false });
  assert.deepEqual(log.follower.build(tenant), { processedEvents: 2500, totalEvents: 2500, isDone: true });
  log.follow();
  assert.deepEqual([log.find('acme').total, log.find('acme').state.generation], [2500, 2]);
});

test('a view that is made anew is a later one, also where nothing was indexed before', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', events(2500));
  log.rebuild('acme');
  log.follow();
  assert.deepEqual([log.find('acme').total, log.find('acme').state.generation], [2500, 2]);
});

test('what was set aside can be tried again, and is found once it is in', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', [...events(1), { ...events(1)[0]!, timestamp: NO_TIME }]);
  log.follow();
  const tenant = log.tenantNumber('acme');
  const [letter, ...others] = await log.letters('acme');
  assert.deepEqual([letter?.attempts, letter?.body, others], [3, '{"index":1}', []]);
  assert.match(log.follower.indexAgain(tenant, 1) ?? '', /no time at all/);
  assert.match(log.follower.indexAgain(tenant, 2) ?? '', /no such event/);
  // The event itself cannot change; here it does, to see that it would be found then.
  log.rewrite(2, NO_TIME, '2026-01-02T03:04:05.000Z');
  assert.equal(log.follower.indexAgain(tenant, 1), undefined);
  assert.equal(log.follower.indexAgain(tenant, 1), undefined, 'once');
  assert.equal(log.find('acme').total, 2);
});

test('a letter is there before the event is passed over, and once, however often that is tried', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', [{ ...events(1)[0]!, timestamp: NO_TIME }, ...events(1)]);
  log.views.exec("CREATE TRIGGER cut BEFORE INSERT ON meta BEGIN SELECT RAISE(ABORT, 'cut short'); END");
  assert.throws(() => log.follower.turn(), /cut short/);
  assert.equal((await log.letters('acme')).length, 1);
  log.views.exec('DROP TRIGGER cut');
  log.follow();
  const letters = await log.letters('acme');
  assert.deepEqual(
    letters.map(({ attempts }) => attempts),
    [6],
  );
  log.rebuild('acme');
  assert.equal((await log.letters('acme')).length, 1);
});

test('what is tried again while a view is made anew is in that one too, if it has passed the event', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', [{ ...events(1)[0]!, timestamp: NO_TIME }, ...events(1500)]);
  log.follow();
  const tenant = log.tenantNumber('acme');
  assert.equal(log.follower.build(tenant).isDone, false);
  log.rewrite(1, NO_TIME, '2026-01-02T03:04:05.000Z');
  assert.equal(log.follower.indexAgain(tenant, 0), undefined);
  assert.equal(log.find('acme').total, 1501);
  log.rebuild('acme');
  assert.deepEqual([log.find('acme').total, log.find('acme').state.generation], [1501, 2]);
});

test('what only the view that is being made lacks is tried again there', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', events(1500));
  log.follow();
  const tenant = log.tenantNumber('acme');
  const { timestamp } = events(1)[0]!;
  log.rewrite(1, timestamp, NO_TIME);
  assert.equal(log.follower.build(tenant).isDone, false);
  log.rewrite(1, NO_TIME, timestamp);
  assert.equal((await log.letters('acme')).length, 1);
  assert.equal(log.follower.indexAgain(tenant, 0), undefined);
  log.rebuild('acme');
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
