// What a consumer gets, member by member, and how its answers are understood: through the whole service.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asJson, type AuditEvent, type Delivery, type List, Notification } from '@tallystick/contract';
import { createRules } from '../gateway/validate.ts';
import { PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask } from '../testing/ask.ts';
import { Consumer, type Got } from '../testing/consumer.ts';
import { consuming, eventIn } from '../testing/consuming.ts';
import { QUICK, startDelivering } from '../testing/delivering-app.ts';
import { until } from '../testing/until.ts';

const app = startDelivering(QUICK);

const notificationRules = createRules(asJson(Notification));
const HEAD = ['webhookId', 'webhookType', 'timestamp', 'subscription', 'signature', 'attemptNumber'];

/** The one object of a body, by the member that holds it. */
function contentIn({ body }: Got, member: string): Record<string, unknown> {
  const all = body as unknown as Record<string, unknown>;
  assert.deepEqual(Object.keys(all).toSorted(), [...HEAD, member].toSorted());
  assert.deepEqual(notificationRules(body, ''), []);
  return all[member] as Record<string, unknown>;
}

const membersOf = (content: object) => Object.keys(content).toSorted();

test('an event is told as the API shows it, with its context', async () => {
  await using consumer = await Consumer.start();
  const { tenant } = await consuming(app, 'told', consumer);
  const ids = await tenant.send({ context: { ip: '::1', agent: { agentId: 'a' } }, payload: { n: 1.5 } }, {});
  await consumer.gotMany(2);
  for (const got of consumer.got) {
    contentIn(got, 'event');
    const { eventId } = eventIn(got);
    assert.ok(ids.includes(eventId));
    const shown = await tenant.ask<AuditEvent>('GET', `/audit-events/${eventId}`);
    // That a checkpoint covers it is told later.
    const { integrity: _, ...event } = eventIn(got);
    const { integrity: __, ...same } = shown;
    assert.deepEqual(event, same);
    assert.equal(eventIn(got).integrity?.leafHash, shown.integrity?.leafHash);
  }
});

test('the headers are those of the contract and no others of ours', async () => {
  await using consumer = await Consumer.start();
  const { tenant } = await consuming(app, 'headers', consumer, { headers: { 'X-Team': 'blue' } });
  await tenant.send({});
  const [got] = await consumer.gotMany(1);
  const names = Object.keys(got!.headers).filter((name) => !['host', 'connection'].includes(name));
  assert.deepEqual(names.toSorted(), [
    'accept-encoding',
    'content-length',
    'content-type',
    'user-agent',
    'webhook-id',
    'webhook-signature',
    'webhook-timestamp',
    'x-audit-attempt',
    'x-audit-signature',
    'x-audit-timestamp',
    'x-audit-webhook-id',
    'x-audit-webhook-type',
    'x-team',
  ]);
  const { body, headers } = got!;
  assert.equal(headers['webhook-timestamp'], String(Math.floor(Date.parse(body.timestamp) / 1000)));
  assert.equal(headers['x-audit-webhook-id'], body.webhookId);
  assert.match(body.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

test('violations, thresholds and changes of the system have the members of the contract', async () => {
  await using consumer = await Consumer.start();
  const { tenant, path } = await consuming(app, 'members', consumer, {
    eventTypes: ['policy.violated', 'threshold.exceeded', 'system.event'],
  });
  const threshold = { count: 1, window: 'PT1H', groupBy: 'actor.userId' };
  const effect = { severity: 'High', violationType: 'Mass' };
  await tenant.put('Alert', [
    { conditions: { action: 'Delete.Invoice' }, effect },
    { conditions: { action: 'Delete.Invoice' }, effect: { ...effect, threshold } },
  ]);
  const [eventId] = await tenant.send({ action: 'Delete.Invoice' });
  await consumer.gotMany(2);
  const of = (type: string) => consumer.got.find(({ body }) => body.webhookType === type)!;
  const violation = contentIn(of('policy.violated'), 'violation');
  for (const member of ['violationId', 'policyId', 'policyName', 'violationType', 'severity', 'detectedAt'])
    assert.ok(typeof violation[member] === 'string', member);
  assert.deepEqual([violation['eventId'], violation['severity']], [eventId, 'High']);
  const crossing = contentIn(of('threshold.exceeded'), 'threshold');
  assert.deepEqual(
    membersOf(crossing),
    [
      'thresholdId',
      'name',
      'observedValue',
      'threshold',
      'window',
      'groupKey',
      'severity',
      'detectedAt',
    ].toSorted(),
  );
  assert.deepEqual([crossing['groupKey'], crossing['threshold'], crossing['window']], ['u-1', 1, 'PT1H']);
  await tenant.ask('POST', `${path}/test`);
  const tested = contentIn(consumer.got[2]!, 'system');
  assert.deepEqual(membersOf(tested), ['component', 'kind', 'occurredAt', 'previousStatus', 'status']);
  assert.equal(tested['kind'], 'Test');
  const { data } = await tenant.ask<List<{ streamId: string }>>('GET', '/event-streams');
  await tenant.ask('POST', `/event-streams/${data[0]!.streamId}/seal`);
  await consumer.gotMany(4);
  const sealed = contentIn(consumer.got[3]!, 'system');
  assert.deepEqual(sealed, {
    kind: 'EventStreamSealed',
    component: 'streams',
    previousStatus: 'Open',
    status: 'Sealed',
    streamId: data[0]!.streamId,
    occurredAt: sealed['occurredAt'],
  });
});

test('a violation is told of where the filters match the event behind it; a threshold ignores them', async () => {
  await using wanted = await Consumer.start();
  await using other = await Consumer.start();
  const eventTypes = ['PolicyViolated', 'ThresholdExceeded'];
  const { tenant } = await consuming(app, 'behind', wanted, {
    eventTypes,
    filters: { 'payload.amount': { gt: 10 } },
  });
  await consuming(app, 'behind', other, {
    name: 'other',
    eventTypes,
    filters: { 'payload.amount': { gt: 99 } },
  });
  const effect = { severity: 'Low', violationType: 'Deletion' };
  await tenant.put('Alert', [
    { conditions: { action: 'Delete.Invoice' }, effect },
    {
      conditions: { action: 'Delete.Invoice' },
      effect: { ...effect, threshold: { count: 1, window: 'PT1H' } },
    },
  ]);
  await tenant.send({ action: 'Delete.Invoice', payload: { amount: 50 } });
  const typesIn = ({ got }: Consumer) => got.map(({ body }) => body.webhookType).toSorted();
  await wanted.gotMany(2);
  await other.gotMany(1);
  assert.deepEqual(typesIn(wanted), ['policy.violated', 'threshold.exceeded']);
  assert.deepEqual(typesIn(other), ['threshold.exceeded']);
});

test('200, 201, 202 and 204 are success, and nothing else is', async () => {
  const statusesOf = async (reply: number) => {
    await using consumer = await Consumer.start();
    const { tenant, deliveries } = await consuming(app, `status-${reply}`, consumer, {
      retryClientErrors: true,
    });
    consumer.reply = () => (consumer.got.length === 1 ? reply : 200);
    await tenant.send({});
    const [got] = await consumer.gotMany(1);
    let delivery: Delivery | undefined;
    await until(async () => {
      [delivery] = await deliveries('?limit=1');
      return delivery?.webhookId === got!.body.webhookId && delivery.status === 'Acknowledged';
    });
    return delivery!.attempts.map(({ responseStatus }) => responseStatus);
  };
  const successes = [200, 201, 202, 204];
  const failures = [203, 205, 206, 226, 300, 301, 302, 304, 307, 400, 401, 404, 408, 429, 500, 503, 599];
  const seen = await Promise.all([...successes, ...failures].map(statusesOf));
  assert.deepEqual(seen, [
    ...successes.map((status) => [status]),
    ...failures.map((status) => [status, 200]),
  ]);
});

test('4xx goes to the dead letters at once where the subscription says so, and 5xx does not', async () => {
  await using consumer = await Consumer.start();
  const { tenant, deliveries } = await consuming(app, 'client-errors', consumer, {
    retryClientErrors: false,
  });
  let reply = 422;
  consumer.reply = () => reply;
  await tenant.send({});
  await until(async () => (await deliveries())[0]?.status === 'DeadLettered');
  assert.equal((await deliveries())[0]?.attempts.length, 1);
  reply = 502;
  await tenant.send({});
  await until(() => consumer.got.length >= 3);
  reply = 200;
  await until(async () => (await deliveries())[0]?.status === 'Acknowledged');
});

test('Retry-After is waited for; the time and the signatures are those of the attempt', async () => {
  await using consumer = await Consumer.start();
  const { tenant } = await consuming(app, 'later', consumer);
  consumer.reply = () =>
    consumer.got.length === 1
      ? (response) => void response.writeHead(503, { 'Retry-After': '2' }).end()
      : 200;
  await tenant.send({});
  const [first, second] = await consumer.gotMany(2);
  assert.ok(second!.atMs - first!.atMs >= 2000, `${second!.atMs - first!.atMs} ms`);
  assert.equal(first!.body.webhookId, second!.body.webhookId);
  assert.deepEqual([first!.body.attemptNumber, second!.body.attemptNumber], [1, 2]);
  for (const { atMs, body, headers } of [first!, second!]) {
    assert.ok(Math.abs(atMs - Date.parse(body.timestamp)) < 1000);
    assert.equal(headers['x-audit-timestamp'], body.timestamp);
  }
  assert.notEqual(first!.body.signature, second!.body.signature);
});

test('deliveries are listed newest first, by status and page by page', async () => {
  await using consumer = await Consumer.start();
  const { tenant, path, deliveries } = await consuming(app, 'listed', consumer);
  await tenant.send(...Array.from({ length: 5 }, () => ({})));
  await until(async () => (await deliveries('?status=Acknowledged')).length === 5);
  const all = (await deliveries()).map(({ webhookId }) => webhookId);
  const read = async (cursor?: string) =>
    tenant.ask<List<Delivery>>(
      'GET',
      `${path}/deliveries?limit=2${cursor === undefined ? '' : `&cursor=${cursor}`}`,
    );
  const pages: string[] = [];
  let page = await read();
  assert.deepEqual([page.pagination.total, page.pagination.limit, page.pagination.hasMore], [5, 2, true]);
  for (;;) {
    pages.push(...page.data.map(({ webhookId }) => webhookId));
    if (page.pagination.cursor === null) break;
    page = await read(page.pagination.cursor);
  }
  assert.deepEqual(pages, all);
  assert.equal((await deliveries('?status=Queued,RetryScheduled,DeadLettered')).length, 0);
  const refused = async (query: string) =>
    (await ask(app, 'GET', `/api/v1${path}/deliveries${query}`, { key: PLATFORM_KEY, tenant: 'listed' }))
      .code;
  assert.equal(await refused('?status=Lost'), '400 INVALID_PARAMETER');
  const { pagination } = await read();
  assert.equal(await refused(`?limit=2&status=Queued&cursor=${pagination.cursor!}`), '400 CURSOR_MISMATCH');
});

test('what is not there is 404, and what recover is told must be a time', async () => {
  await using consumer = await Consumer.start();
  const { path } = await consuming(app, 'missing', consumer);
  const code = async (method: string, at: string, body?: object) =>
    (await ask(app, method, `/api/v1${at}`, { key: PLATFORM_KEY, tenant: 'missing', body })).code;
  const nobody = '/webhooks/subscriptions/01JAZZ00000000000000000000';
  for (const at of [`${nobody}/test`, `${nobody}/deliveries/5a8c2bd3-0000-5000-8000-000000000000/redeliver`])
    assert.equal(await code('POST', at), '404 SUBSCRIPTION_NOT_FOUND');
  assert.equal(await code('GET', `${nobody}/deliveries`), '404 SUBSCRIPTION_NOT_FOUND');
  const since = new Date().toISOString();
  assert.equal(await code('POST', `${nobody}/recover`, { since }), '404 SUBSCRIPTION_NOT_FOUND');
  for (const webhookId of ['5a8c2bd3-0000-5000-8000-000000000000', 'nonsense'])
    assert.equal(await code('POST', `${path}/deliveries/${webhookId}/redeliver`), '404 DELIVERY_NOT_FOUND');
  for (const body of [{}, { since: 'yesterday' }, { since: 5 }, { since, until: since }])
    assert.equal(await code('POST', `${path}/recover`, body), '422 VALIDATION_FAILED');
});
