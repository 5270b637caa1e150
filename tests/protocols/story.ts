// One story, told over every protocol: what is sent over it is what REST shows, what it shows is what REST shows, and it
// refuses what REST refuses, with the same codes. What a protocol does not offer, the story does over REST.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { AuditEvent, ErrorCode, OperationName } from '@tallystick/contract';
import { signToken } from '../../packages/server/src/access/local-issuer.ts';
import { loadOrMakeTokenKey } from '../../packages/server/src/storage/keys/token-key.ts';
import { until } from '../../packages/server/src/testing/until.ts';
import type { Asking, Spoken } from './speaker.ts';
import { setStage, type Stage } from './story-app.ts';
import { tellVersions } from './version-story.ts';

const EVENT = {
  timestamp: '2026-01-02T03:04:05.123456789Z',
  actor: { actorType: 'User', userId: 'u-1', userName: 'ana@example.com' },
  action: 'Delete.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'INV-42 <&> "é" 😀' },
  correlationId: '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
  context: { ipAddress: '203.0.113.7', sessionId: null, '': {} },
  payload: {
    amount: 1250.5,
    large: 1e300,
    tiny: 5e-324,
    whole: 9007199254740991,
    lines: [{ sku: 'a/b', qty: 2 }, [], [[1]], {}],
    'a.b "c" <d>': 'tab\tline\r\nbell\u0007 ]]> &amp; \u2028 refund',
    __proto__x: false,
  },
};
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const TRACED = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` };

/** Where REST has a query, other protocols have a member of one message. */
const CODE_IN_A_MESSAGE: Readonly<Record<string, ErrorCode>> = { INVALID_PARAMETER: 'VALIDATION_FAILED' };

/** Registers the tests of the story. */
export function tellStory(spoken: Spoken): void {
  describe(`the story over ${spoken.protocol}`, () => {
    const stage = {} as Stage;
    before(async () => void Object.assign(stage, await setStage(spoken)));
    after(() => stage[Symbol.asyncDispose]?.());
    writeAndRead(stage);
    refuse(stage);
    manage(stage);
  });
  tellVersions(spoken);
}

const draft = (more: object = {}) => ({ event: { ...EVENT, ...more } });

async function sent(stage: Stage, more: object = {}, by?: Asking): Promise<string> {
  return (await stage.told('events.ingest', draft(more), by)).eventId;
}

/** A checkpoint may come between two answers. */
function assertAlike(one: unknown, other: unknown, message?: string): void {
  const chained = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value).replaceAll('"Checkpointed"', '"Chained"'));
  assert.deepEqual(chained(one), chained(other), message);
}

function writeAndRead(stage: Stage): void {
  it('an event is stored as it was sent, and shown as it was stored', async () => {
    const { kind, body } = await stage.ask('events.ingest', draft());
    const receipt = body as { eventId: string; idempotent: boolean };
    assert.deepEqual([kind, receipt.idempotent], ['Created', false]);
    const shown = await stage.told('events.get', { eventId: receipt.eventId });
    assertAlike(shown, await stage.toldByRest('events.get', { eventId: receipt.eventId }));
    const { timestamp, actor, action, resource, correlationId, context, payload } =
      shown as object as typeof EVENT;
    assert.deepEqual({ timestamp, actor, action, resource, correlationId, context, payload }, EVENT);
    const lower = await stage.told('events.get', { eventId: receipt.eventId.toLowerCase() });
    assertAlike(lower, shown, 'identifiers are read without regard to case');
  });

  it('a batch is answered event by event', async () => {
    const events = [draft().event, { ...draft().event, action: 'nonsense' }, draft({ context: {} }).event];
    const { kind, body } = await stage.ask('events.ingestBatch', { batch: { events } });
    assert.equal(kind, 'Partial');
    const { status, successCount, failureCount, results } = body as Awaited<
      ReturnType<typeof stage.told<'events.ingestBatch'>>
    >;
    assert.deepEqual([status, successCount, failureCount], ['PartialSuccess', 2, 1]);
    assert.deepEqual(
      results.map((each) => [each.index, each.status, each.error?.code, each.error?.details[0]?.field]),
      [
        [0, 'Accepted', undefined, undefined],
        [1, 'Rejected', 'VALIDATION_FAILED', 'events[1].action'],
        [2, 'Accepted', undefined, undefined],
      ],
    );
    const whole = { batch: { events, transactional: true } };
    const failed = await stage.ask('events.ingestBatch', whole);
    const result = failed.body as { status: string; error: { code: string } };
    assert.deepEqual(
      [failed.kind, result.status, result.error.code],
      ['Rejected', 'Failed', 'BATCH_REJECTED'],
    );
  });

  it('a list is walked forth and back, and a cursor is the same in every protocol', async () => {
    for (let i = 0; i < 5; i++) await sent(stage, { actor: { actorType: 'System', userId: 'walked' } });
    await stage.caughtUp();
    const asked = { actorId: ['walked'], limit: 2, sort: ['timestamp'] };
    const first = await stage.told('events.list', asked);
    const cursor = first.pagination.cursor!;
    const second = await stage.told('events.list', { ...asked, cursor });
    const byRest = await stage.toldByRest('events.list', { ...asked, cursor });
    assertAlike(second.data, byRest.data);
    const back = await stage.told('events.list', { ...asked, cursor: byRest.pagination.previousCursor });
    assertAlike(back.data, first.data);
    const { total, totalRelation, limit, hasMore } = second.pagination;
    assert.deepEqual([total, totalRelation, limit, hasMore], [5, 'Exact', 2, true]);
    const last = await stage.told('events.list', { ...asked, cursor: second.pagination.cursor });
    assert.deepEqual([last.data.length, last.pagination.cursor ?? null], [1, null]);
    const empty = await stage.told('events.list', { actorId: ['nobody'] });
    assert.deepEqual([empty.data, empty.pagination.total], [[], 0]);
  });

  it('a search finds and counts the same', async () => {
    await sent(stage, { action: 'Find.Me', payload: { note: 'a refund for Ana' } });
    await stage.caughtUp();
    const search = {
      query: 'refund action:Find.Me',
      filters: { actions: ['Find.*'], timeRange: { from: '2026-01-01T00:00:00Z' } },
      sort: [{ field: 'relevance' }],
      pagination: { limit: 10 },
      aggregations: ['byAction', 'byActor', 'byDay'],
    };
    const found = await stage.told('events.search', { search });
    const byRest = await stage.toldByRest('events.search', { search });
    assertAlike({ ...found, metadata: byRest.metadata }, byRest);
    assert.equal(found.totalCount, 1);
    assert.ok(found.results[0]!.score! > 0 && found.results[0]!.highlights !== undefined);
  });

  it('a repeat with a key is answered as the first time, and stores nothing', async () => {
    const by = { ...stage.callers.admin, idempotencyKey: 'story-1' };
    const first = await stage.ask('events.ingest', draft(), by);
    const again = await stage.ask('events.ingest', draft(), by);
    assert.deepEqual([first.kind, again.kind], ['Created', 'Repeated']);
    assert.deepEqual(again.body, { ...(first.body as object), idempotent: true });
    const other = await stage.ask('events.ingest', draft({ action: 'Read.Invoice' }), by);
    assert.equal(other.error?.code, 'IDEMPOTENCY_KEY_REUSED');
  });
}

function refuse(stage: Stage): void {
  it('a reader with less is shown less, and nothing of a Secret event', async () => {
    const confidential = await sent(stage, { classification: 'Confidential' });
    const secret = await sent(stage, { classification: 'Secret' });
    const { viewer } = stage.callers;
    const shown = await stage.told('events.get', { eventId: confidential }, viewer);
    assertAlike(shown, await stage.toldByRest('events.get', { eventId: confidential }, viewer));
    const { payload, context, redaction } = shown as AuditEvent;
    assert.deepEqual([payload, context], [{}, {}]);
    assert.deepEqual(redaction, {
      fields: ['payload', 'context'],
      reason: 'ClassificationAboveClearance',
    });
    assert.equal((await stage.ask('events.get', { eventId: secret }, viewer)).error?.code, 'EVENT_NOT_FOUND');
    const { eventId } = (await stage.told('events.get', { eventId: secret })) as { eventId: string };
    assert.equal(eventId, secret);
  });

  it('another tenant is told nothing', async () => {
    const eventId = await sent(stage);
    const { other } = stage.callers;
    const codeFor = async (name: OperationName, input: object, by: Asking) =>
      (await stage.ask(name, input, by)).error?.code;
    assert.equal(await codeFor('events.get', { eventId }, other), 'EVENT_NOT_FOUND');
    assert.equal(await codeFor('events.get', { eventId }, { ...other, tenant: 'acme' }), 'TENANT_MISMATCH');
    assert.equal(await codeFor('events.list', { tenantId: 'acme' }, other), 'TENANT_MISMATCH');
    assert.equal(await codeFor('events.ingest', draft({ tenantId: 'acme' }), other), 'TENANT_MISMATCH');
    const { data } = await stage.told('events.list', { limit: 5 }, other);
    assert.deepEqual(data, []);
  });

  it('what breaks a rule is refused with the same code, at the same places', async () => {
    const bad: [OperationName, object][] = [
      [
        'events.ingest',
        draft({ action: 'nonsense', timestamp: 'yesterday', actor: { actorType: 'User', userId: '' } }),
      ],
      ['events.ingest', draft({ payload: { text: 'x'.repeat(70_000) } })],
      ['events.ingestBatch', { batch: { events: [] } }],
      ['events.list', { limit: 0, actorId: [''] }],
      ['events.list', { sort: ['nothing'] }],
      ['events.list', { cursor: 'nonsense' }],
      ['events.get', { eventId: 'nonsense' }],
      ['events.search', { search: { query: 'a AND (', pagination: { limit: 1001 } } }],
      ['policies.getVersion', { policyId: '01KE0000000000000000000042', version: 'x' }],
    ];
    for (const [name, input] of bad) {
      const by = { ...stage.callers.admin, ...TRACED };
      const { error } = await stage.ask(name, input, by);
      const { error: byRest } = await stage.rest.ask(name, input, by);
      const what = `${name} ${JSON.stringify(input).slice(0, 100)}`;
      const [code, ours] = [byRest!.code, stage.speaker.protocol !== 'rest'];
      assert.equal(error?.code, (ours && CODE_IN_A_MESSAGE[code]) || code, what);
      assert.deepEqual(error.details, byRest!.details, what);
      assert.equal(error.traceId, TRACE, what);
      assert.match(error.requestId, /^[0-9A-Z]{26}$/, what);
    }
  });

  it('nobody comes in without a credential that is known', async () => {
    const tokenKey = await loadOrMakeTokenKey(stage.app.dataDirectory, 'story');
    const tokenFrom = (ms: number) => {
      const claims = { tenant: 'acme', subject: 's', roles: ['Admin'], scopes: ['audit:read'] } as const;
      return signToken(tokenKey, { ...claims, clearance: undefined, lifetimeSeconds: 60 }, ms);
    };
    const codeOf = async (by: Asking) => {
      const { error } = await stage.ask('streams.list', {}, by);
      return error?.code;
    };
    const table: [code: string | undefined, Asking][] = [
      ['UNAUTHENTICATED', { tenant: 'acme' }],
      ['UNAUTHENTICATED', { tenant: 'acme', key: 'tsk_who_knows_this' }],
      ['UNAUTHENTICATED', { tenant: 'acme', token: 'a.b.c' }],
      ['TOKEN_EXPIRED', { tenant: 'acme', token: await tokenFrom(Date.now() - 3_600_000) }],
      ['MISSING_TENANT', { key: stage.callers.admin.key! }],
      ['INVALID_HEADER', { ...stage.callers.admin, correlationId: 'a b' }],
      [undefined, { token: await tokenFrom(Date.now()) }],
    ];
    for (const [code, by] of table) assert.equal(await codeOf(by), code, JSON.stringify(by));
    const policy = { policy: { name: 'not theirs', policyType: 'Retention' } };
    assert.equal((await stage.ask('policies.create', policy, stage.callers.viewer)).error?.code, 'FORBIDDEN');
  });

  it('a correlation id comes back', async () => {
    const { headers } = await stage.ask('streams.list', {}, { ...stage.callers.admin, correlationId: 'c-1' });
    assert.equal(headers['x-correlation-id'], 'c-1');
  });
}

function manage(stage: Stage): void {
  it('a policy lives', async () => {
    const conditions = { 'resource.resourceType': 'Invoice', 'payload.amount': { gt: 1000.5 } };
    const rule = { name: 'invoices', conditions, effect: { retentionPeriod: 'P7Y' } };
    const policy = { name: 'of the story', policyType: 'Retention', rules: [rule] };
    const { policyId, rules } = await stage.told('policies.create', { policy });
    assert.deepEqual(rules[0]?.conditions, conditions);
    const replaced = { policyId, ifMatch: '"1"', policy: { ...policy, description: 'better', rules } };
    assert.equal((await stage.told('policies.replace', replaced)).version, 2);
    assert.equal((await stage.ask('policies.replace', replaced)).error?.code, 'VERSION_CONFLICT');
    const { ruleId } = await stage.told('policies.addRule', {
      policyId,
      rule: { effect: { retentionPeriod: 'P1Y' } },
    });
    const removed = await stage.ask('policies.removeRule', { policyId, ruleId });
    assert.deepEqual([removed.kind, removed.body], ['Removed', undefined]);
    assert.deepEqual(
      await stage.told('policies.get', { policyId }),
      await stage.toldByRest('policies.get', { policyId }),
    );
    const versions = await stage.told('policies.listVersions', { policyId, limit: 10 });
    assert.deepEqual(
      versions.data.map(({ version }) => version),
      [4, 3, 2, 1],
    );
    const first = await stage.told('policies.getVersion', { policyId, version: '1' });
    assert.deepEqual([first.version, first.description], [1, undefined]);
    const trial = await stage.told('policies.validate', { policy: { name: '', policyType: 'Retention' } });
    assert.deepEqual([trial.valid, trial.errors[0]?.field], [false, 'name']);
    assert.equal((await stage.ask('policies.delete', { policyId })).kind, 'Removed');
    assert.equal((await stage.ask('policies.get', { policyId })).error?.code, 'POLICY_NOT_FOUND');
  });

  it('an export is made, shown and deleted', async () => {
    await sent(stage);
    const { kind, body } = await stage.ask('exports.create', { export: { name: 'Q3', format: 'CSV' } });
    assert.equal(kind, 'Accepted');
    const { exportId } = body as { exportId: string };
    let made = await stage.told('exports.get', { exportId });
    await until(async () => {
      made = await stage.told('exports.get', { exportId });
      return made.status === 'Completed';
    });
    const byRest = await stage.toldByRest('exports.get', { exportId });
    // A link is signed anew for each who asks.
    const unsigned = { downloadUrl: '', expiresAt: '' };
    // A list that may be absent is so in some protocols when it is empty.
    assert.deepEqual({ deliveries: [], ...made, ...unsigned }, { ...byRest, ...unsigned });
    const listed = await stage.told('exports.list', { status: ['Completed'] });
    assert.ok(listed.data.some((each) => each.exportId === exportId));
    assert.equal((await stage.ask('exports.delete', { exportId })).kind, 'Removed');
    assert.equal((await stage.ask('exports.get', { exportId })).error?.code, 'EXPORT_NOT_FOUND');
  });
}
