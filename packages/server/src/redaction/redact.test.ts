// Redaction at rest through the whole service, on the real store: nobody finds the value again, in no file, and the event
// still proves itself.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { HealthReport } from '@tallystick/contract';
import { noteVerifier, parseEventProof, verifyEventProof } from '@tallystick/evidence';
import { checkStore } from '../check-store.ts';
import { JOURNAL_FILE } from '../storage/sqlite/connection/database.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { ask as askOf } from '../testing/ask.ts';
import { PLATFORM_KEY } from '../testing/admin-caller.ts';
import { openRunningJournal } from '../testing/running-journal.ts';
import { type AnyBody, filesWith, startRedacting } from '../testing/redacting.ts';

const IBAN = 'DE02120300000000202051';
const NAME = 'Ottokar Canarius';

const event = (more: object = {}) => ({
  ...EVENT,
  actor: { actorType: 'User', userId: 'u-canary-77', userName: NAME },
  payload: { iban: IBAN, amount: 12, order: { lines: [1, 2], note: 'kept' } },
  ...more,
});

async function started(t: Parameters<typeof startRedacting>[0]) {
  const { sent, ...rest } = await startRedacting(t);
  return { ...rest, sent: (more: object = {}) => sent({ ...event(), ...more }) };
}

test('a field is gone for every reader and from every file, and the event still proves itself', async (t) => {
  const { app, ask, sent } = await started(t);
  const own = '01KE0000000000000000000042';
  await sent({ eventId: own });
  const other = await sent({ payload: { note: 'another one' }, actor: { actorType: 'System' } });
  const before = (await ask('GET', `/audit-events/${own}/proof`)).text;
  assert.equal((await ask('GET', `/audit-events?q=${IBAN}`)).body.pagination.total, 1);
  assert.ok(filesWith(app.dataDirectory, IBAN).length > 0, 'the search for files finds it');
  const request = { fields: ['payload.iban', 'actor.userName', 'payload.order.note'], reason: 'asked for' };
  const redacted = await ask('POST', `/audit-events/${own}/redact`, request);
  assert.equal(redacted.status, 200, redacted.text);
  const fields = ['actor.userName', 'payload.iban', 'payload.order'];
  assert.deepEqual(
    { ...redacted.body, noticeId: '', redactedAt: '' },
    { eventId: own, fields, noticeId: '', redactedAt: '' },
  );
  const { body: shown } = await ask('GET', `/audit-events/${own}`);
  assert.deepEqual(shown.payload, { amount: 12 });
  assert.deepEqual(shown.actor, { actorType: 'User', userId: 'u-canary-77' });
  assert.deepEqual(shown.redaction, { fields, reason: 'RedactedAtRest' });
  for (const value of [IBAN, NAME]) {
    assert.equal((await ask('GET', `/audit-events?q="${value}"`)).body.pagination.total, 0);
    assert.deepEqual(filesWith(app.dataDirectory, value), [], value);
  }
  const { body: found } = await ask('POST', '/audit-events/search', {
    query: 'payload.amount:12',
    aggregations: ['byActor'],
  });
  assert.deepEqual(
    found.results.map(({ eventId }: { eventId: string }) => eventId),
    [own],
  );
  assert.deepEqual(found.aggregations.byActor, [{ key: 'u-canary-77', count: 1 }]);
  const notice = await ask('GET', `/audit-events/${redacted.body.noticeId}`);
  assert.equal(notice.body.kind, 'Notice');
  assert.ok(!notice.text.includes(IBAN));
  const after = (await ask('GET', `/audit-events/${own}/proof`)).text;
  const key = (await ask('GET', '/log/t/acme/key')).text.trim();
  const verifiers = [await noteVerifier(key)];
  for (const [proof, isWhole] of [
    [before, true],
    [after, false],
  ] as const) {
    const verdict = await verifyEventProof(parseEventProof(proof), { verifiers });
    assert.deepEqual([verdict.entry.eventId, verdict.whole], [own, isWhole]);
  }
  assert.equal((await ask('GET', `/audit-events/${other}`)).body.redaction, undefined);
  const { faults, totals } = await checkStore(app.dataDirectory, { keys: [], seen: [] });
  assert.deepEqual([faults, totals.deleted, totals.unexplained], [[], 1, 0]);
  const again = await ask('POST', '/audit-events', event({ eventId: own }));
  assert.deepEqual([again.status, again.body.error.code], [409, 'EVENT_ID_CONFLICT']);
});

test('the verifier counts an event whose deleted value was put back, and nothing where it was not', async (t) => {
  const { app, ask, sent } = await started(t);
  await sent({ payload: { note: 'another one' } });
  const own = await sent();
  const [journal, rows] = [join(app.dataDirectory, JOURNAL_FILE), 'SELECT * FROM contents'];
  const stored = () => {
    using db = new DatabaseSync(journal, { readOnly: true });
    return db.prepare(rows).all();
  };
  const isOwn = ({ text2 }: Record<string, unknown>) => Buffer.from(text2 as Uint8Array).includes(IBAN);
  const before = stored().find(isOwn)!;
  const redacted = await ask('POST', `/audit-events/${own}/redact`, {
    fields: ['payload.iban'],
    reason: 'x',
  });
  assert.equal(redacted.status, 200, redacted.text);
  const undeleted = async () => {
    const { faults, totals, tenants } = await checkStore(app.dataDirectory, { keys: [], seen: [] });
    const logs = tenants.flatMap((tenant) => tenant.logs).map(({ firstUndeleted }) => firstUndeleted);
    return [faults, totals.undeleted, logs.filter((first) => first !== undefined)];
  };
  assert.deepEqual(await undeleted(), [[], 0, []]);
  {
    using db = openRunningJournal(app.dataDirectory);
    const names = Object.keys(before);
    db.prepare(`REPLACE INTO contents VALUES (${names.map(() => '?').join()})`).run(
      ...(Object.values(before) as Uint8Array[]),
    );
  }
  assert.deepEqual(await undeleted(), [[], 1, [1]]);
});

test('what is not there, not seen, or no event cannot be redacted, and each field is named', async (t) => {
  const { ask, sent } = await started(t);
  const eventId = await sent();
  const codeOf = async (path: string, fields: string[]) => {
    const { status, body } = await ask('POST', `/audit-events/${path}/redact`, { fields, reason: 'x' });
    return [
      status,
      body.error?.code,
      ...(body.error?.details ?? []).map((each: { field: string }) => each.field),
    ];
  };
  const wrong = ['payload.nothing', 'payload.iban', 'payload.order.missing'];
  assert.deepEqual(await codeOf(eventId, wrong), [422, 'VALIDATION_FAILED', 'fields[0]', 'fields[2]']);
  for (const field of ['action', 'actor.actorType', 'actor', 'resource.resourceId', 'payload..x'])
    assert.deepEqual(await codeOf(eventId, [field]), [422, 'VALIDATION_FAILED', 'fields[0]'], field);
  const several = await ask('POST', `/audit-events/${eventId}/redact`, { fields: ['action', 5], more: 1 });
  assert.deepEqual(
    several.body.error.details.map((each: { field: string }) => each.field).toSorted(),
    ['fields[0]', 'fields[1]', 'more', 'reason'],
    'all in one answer',
  );
  assert.deepEqual(await codeOf('01KE0000000000000000000099', ['payload.iban']), [404, 'EVENT_NOT_FOUND']);
  const { body } = await ask('POST', `/audit-events/${eventId}/redact`, { fields: ['payload'], reason: 'x' });
  assert.deepEqual(body.fields, ['payload.amount', 'payload.iban', 'payload.order']);
  assert.deepEqual(await codeOf(body.noticeId, ['payload.tags']), [404, 'EVENT_NOT_FOUND']);
  assert.deepEqual(
    await codeOf(eventId, ['payload.iban']),
    [422, 'VALIDATION_FAILED', 'fields[0]'],
    'it is gone',
  );
});

test('a repeat under the same key gets the first answer, and a hold keeps the event as it is', async (t) => {
  const { ask, sent } = await started(t);
  const [one, two] = [await sent(), await sent()];
  const request = { fields: ['payload.iban'], reason: 'asked for' };
  const once = () => ask('POST', `/audit-events/${one}/redact`, request, { 'Idempotency-Key': 'once' });
  const [first, second] = [await once(), await once()];
  assert.deepEqual([first.status, second.status, second.body], [200, 200, first.body]);
  assert.equal((await ask('POST', '/legal-holds', { name: 'court', reason: 'a case' })).status, 201);
  const held = await ask('POST', `/audit-events/${two}/redact`, request);
  assert.deepEqual([held.status, held.body.error.code], [409, 'LEGAL_HOLD_ACTIVE']);
});

test('a redaction that waits, and was altered in the database, is refused, and health says so', async (t) => {
  const { app, ask, sent, secondCaller } = await started(t);
  const own = await sent();
  const second = await secondCaller();
  await ask('PUT', '/admin/tenants/acme', { fourEyes: true });
  const request = { fields: ['payload.iban'], reason: 'x' };
  const { body } = await ask('POST', `/audit-events/${own}/redact`, request);
  const storage = async () => {
    const { body: health } = await askOf<HealthReport>(app, 'GET', '/api/v1/health', {});
    return health.entries['storage']?.status;
  };
  assert.equal(await storage(), 'Healthy');
  {
    using db = openRunningJournal(app.dataDirectory);
    db.exec(`UPDATE records SET body = replace(body, 'iban', 'amount') WHERE kind = 'PendingRedaction'`);
    db.exec(`UPDATE meta SET value = hex(randomblob(8)) WHERE name = 'records_version'`);
  }
  const told = await second('POST', `/admin/operations/${body.operationId}/confirm`);
  assert.equal(told.status, 500);
  assert.equal(await storage(), 'Degraded');
});

test('where the tenant wants four eyes, an event under a hold is refused at once, and its operation counts one event', async (t) => {
  const { ask, sent, secondCaller } = await started(t);
  const [held, free] = [await sent(), await sent()];
  assert.equal((await ask('PUT', '/admin/tenants/acme', { fourEyes: true })).status, 200);
  const range = { fromSequence: 1, toSequence: 1 };
  assert.equal((await ask('POST', '/legal-holds', { name: 'court', reason: 'a case', range })).status, 201);
  const request = { fields: ['payload.iban'], reason: 'asked for' };
  const refused = await ask('POST', `/audit-events/${held}/redact`, request);
  assert.deepEqual([refused.status, refused.body.error?.code], [409, 'LEGAL_HOLD_ACTIVE']);
  const { status, body } = await ask('POST', `/audit-events/${free}/redact`, request);
  assert.equal(status, 202);
  const operation = `/admin/operations/${body.operationId}`;
  const progress = async () => ((await ask('GET', operation)).body as { progress?: object }).progress;
  assert.deepEqual(await progress(), { percent: 0, processedEvents: 0, totalEvents: 1 });
  const second = await secondCaller();
  assert.equal((await second('POST', `${operation}/confirm`)).status, 200);
  assert.deepEqual(await progress(), { percent: 100, processedEvents: 1, totalEvents: 1 });
});

test('whether a hold covers an event by what the caller does not see, the refusal does not tell', async (t) => {
  const { app, ask, sent } = await started(t);
  const { key } = (
    await askOf<{ key: string }>(app, 'POST', '/api/v1/admin/api-keys', {
      key: PLATFORM_KEY,
      tenant: 'acme',
      body: { name: 'lower', tenantId: 'acme', roles: ['Admin'], clearance: 'Internal' },
    })
  ).body;
  const worlds = await Promise.all(
    [IBAN, 'DE00'].map((iban) => sent({ classification: 'Confidential', payload: { iban, note: 'n' } })),
  );
  const conditions = { 'resource.resourceType': EVENT.resource.resourceType, 'payload.iban': IBAN };
  const hold = { name: 'court', reason: 'a case', conditions };
  assert.equal((await ask('POST', '/legal-holds', hold)).status, 201);
  const told = async (of: string, field: string, as: string) => {
    const { status, body } = await askOf<AnyBody>(app, 'POST', `/api/v1/audit-events/${of}/redact`, {
      key: as,
      tenant: 'acme',
      body: { fields: [field], reason: 'asked for' },
    });
    const { code, message } = (body.error ?? {}) as Partial<AnyBody['error']>;
    return [status, code, message];
  };
  const [held, free] = [
    await told(worlds[0]!, 'actor.userName', key),
    await told(worlds[1]!, 'actor.userName', key),
  ];
  assert.deepEqual(held, free);
  assert.deepEqual(held.slice(0, 2), [409, 'LEGAL_HOLD_ACTIVE']);
  // What the caller sees decides where it says enough, and who sees all of it is told.
  const elsewhere = {
    resource: { ...EVENT.resource, resourceType: 'Elsewhere' },
    classification: 'Confidential',
  };
  assert.equal((await told(await sent(elsewhere), 'actor.userName', key))[0], 200);
  assert.equal((await told(worlds[0]!, 'payload.note', PLATFORM_KEY))[0], 409);
  assert.equal((await told(worlds[1]!, 'payload.note', PLATFORM_KEY))[0], 200);
  assert.equal(
    (await told(worlds[1]!, 'payload.iban', PLATFORM_KEY))[0],
    200,
    'what is deleted is withheld from nobody',
  );
});
