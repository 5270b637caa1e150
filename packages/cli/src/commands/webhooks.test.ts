// The real command against the real service: subscriptions are made, listed, tested and listened to.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Delivery, NewSubscription, Notification, Subscription } from '@tallystick/contract';
import { Consumer } from '../../../server/src/testing/consumer.ts';
import { freePort } from '../../../server/src/testing/free-port.ts';
import { type Ended, run, type Running, start } from '../testing/command.ts';
import { emptyPlace } from '../testing/place.ts';
import { policedTenant } from '../testing/policies-command.ts';
import { startSearched } from '../testing/searched-log.ts';
import type { Heard } from '../webhooks/heard.ts';

const place = emptyPlace();
const service = await startSearched({
  ...place,
  env: { ...place.env, Environment: 'Test', Webhooks__AllowPrivateTargets: 'true' },
});
after(async () => {
  await service[Symbol.asyncDispose]();
  place[Symbol.dispose]();
});

const { env } = policedTenant(service.url, 'any');
const webhooks = ([command, ...args]: readonly string[], tenant: string): Promise<Ended> =>
  run(['webhooks', command!, '--tenant', tenant, ...args], { env });
const listening = (args: readonly string[], more: Readonly<Record<string, string>> = {}): Running =>
  start(['webhooks', 'listen', '--port', '0', ...args], { env: { ...env, ...more } });
const parsed = ({ code, stdout, stderr }: Ended): unknown => {
  assert.deepEqual([code, stderr], [0, '']);
  return JSON.parse(stdout);
};
const addressOf = async (command: Running) => (await command.prints(/^listening at (\S+)\n/))[1]!;

async function stopped(command: Running): Promise<Ended> {
  command.child.kill('SIGTERM');
  return command.ended;
}

async function waitFor(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error('it does not come about');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test('a subscription is made, listed and tested, and its deliveries are shown and sent again', async () => {
  const tenant = 'story';
  const secret = 'correct-horse-battery-staple';
  await using consumer = listening(['--secret', secret]);
  const url = await addressOf(consumer);
  const args = ['create', url, '--name', 'SIEM', '--filters', '{"action":"Delete.*"}'];
  const made = await webhooks([...args, '--clearance', 'Internal'], tenant);
  assert.deepEqual([made.code, made.stderr], [0, '']);
  assert.match(made.stdout, /^name +SIEM\nsubscription id +[0-9A-Z]{26}\nurl +http:\/\/127/);
  assert.match(made.stdout, /\nsecret +whsec_\S+ {2}\(it is not shown again\)\n/);
  const { data } = (await (
    await policedTenant(service.url, tenant).send('GET', 'webhooks/subscriptions')
  ).json()) as { data: Subscription[] };
  const { subscriptionId } = data[0]!;
  assert.deepEqual([data[0]!.clearance, data[0]!.filters], ['Internal', { action: 'Delete.*' }]);
  const served = policedTenant(service.url, tenant);

  // The consumer was given another secret.
  const refused = await webhooks(['test', 'SIEM'], tenant);
  assert.deepEqual([refused.code, refused.stderr], [1, '']);
  assert.match(refused.stdout, /^NOT delivered: 400 after [\d.]+ ms\n$/);
  await consumer.prints(/ {2}system\.event {2}\S{36} {2}wrong-signature {2}Test webhooks Healthy\n/);
  await served.send('PATCH', `webhooks/subscriptions/${subscriptionId}`, { secret });
  const tested = await webhooks(['test', subscriptionId.toLowerCase()], tenant);
  assert.deepEqual([tested.code, tested.stdout.startsWith('delivered: 204 ')], [0, true]);
  await consumer.prints(/ {2}system\.event {2}\S{36} {2}verified {2}Test webhooks Healthy\n/);

  await service.of(tenant).add([{ action: 'Read.Invoice' }, { action: 'Delete.Invoice' }]);
  const told = / {2}event\.notification {2}(\S{36}) {2}verified {2}Delete\.Invoice Invoice INV-42 by u-1\n/;
  const [, webhookId] = await consumer.prints(told);
  const deliveries = async () =>
    parsed(
      await webhooks(['deliveries', 'SIEM', '--status', 'Acknowledged', '--json'], tenant),
    ) as Delivery[];
  await waitFor(async () => (await deliveries()).length === 1);
  const again = await webhooks(['redeliver', 'SIEM', webhookId!], tenant);
  assert.deepEqual([again.code, again.stdout], [0, `${webhookId} is Queued\n`]);
  await consumer.prints(new RegExp(`${told.source}[^]*${webhookId}`));
  await waitFor(async () => (await deliveries())[0]?.attempts.length === 2);
  const [titles, row] = (await webhooks(['deliveries', 'SIEM'], tenant)).stdout.split('\n');
  assert.match(titles!, /^WEBHOOK ID +TYPE +STATUS +ATTEMPTS +LAST ANSWER +LAST ATTEMPT +NEXT ATTEMPT$/);
  assert.match(row!, new RegExp(`^${webhookId} +event\\.notification +Acknowledged +1 +204 +20\\S+Z +-$`));

  const [head, line] = (await webhooks(['list'], tenant)).stdout.split('\n');
  assert.match(head!, /^NAME +STATUS +CIRCUIT +EVENTS +URL +SUBSCRIPTION ID$/);
  assert.match(line!, new RegExp(`^SIEM +Active +Closed +AuditEventReceived +http\\S+ +${subscriptionId}$`));
  assert.deepEqual([(await stopped(consumer)).code, await addressAnswers(url)], [0, false]);
});

async function addressAnswers(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  );
}

test('listen --create subscribes for as long as it runs, and answers what it is told to', async () => {
  const tenant = 'created';
  await using command = listening(['--create', '--tenant', tenant, '--status', '503']);
  await addressOf(command);
  const served = policedTenant(service.url, tenant);
  const there = async () =>
    ((await (await served.send('GET', 'webhooks/subscriptions')).json()) as { data: Subscription[] }).data;
  assert.deepEqual(
    (await there()).map(({ eventTypes }) => eventTypes),
    [['*']],
  );
  await service.of(tenant).add([{}]);
  await command.prints(/event\.notification {2}\S{36} {2}verified {2}Delete\.Invoice/);
  const [delivery] = parsed(
    await webhooks(['deliveries', (await there())[0]!.subscriptionId, '--json'], tenant),
  ) as Delivery[];
  assert.equal(delivery!.attempts[0]!.responseStatus, 503);
  assert.equal((await stopped(command)).code, 0);
  assert.deepEqual(await there(), []);
});

test('a subscription is shown, changed, paused, resumed, given another secret, and deleted', async () => {
  const tenant = 'changed';
  const said = async (...args: string[]) => {
    const { code, stdout, stderr } = await webhooks(args, tenant);
    assert.deepEqual([code, stderr], [0, ''], args.join(' '));
    return stdout;
  };
  await said('create', 'http://127.0.0.1:9/', '--name', 'SIEM', '--filters', '{"action":"Delete.*"}');
  const shown = await said('show', 'SIEM');
  assert.match(shown, /^name +SIEM\nsubscription id +(\S{26})\n/);
  assert.match(
    shown,
    /\nstatus +Active\ncircuit +Closed; failures in a row: 0\nretry +\{"strategy":"Schedule"\}\n/,
  );
  assert.match(
    shown,
    /\ntimeout +10 s\nordered +no\nheaders +none\ncertificates +none\ncreated +20\S+Z by \S+\n$/,
  );
  const { subscriptionId } = parsed(await webhooks(['show', 'SIEM', '--json'], tenant)) as Subscription;

  const changes = ['--name', 'Archive', '--consumer', 'http://127.0.0.1:10/', '--events', '*', '--ordered'];
  const more = ['--clearance', 'Public', '--patch', '{"timeoutSeconds":5,"headers":{"X-Team":"blue"}}'];
  const changed = await said('update', 'SIEM', ...changes, ...more);
  assert.match(changed, /^name +Archive\n/);
  for (const line of [
    'events +\\*',
    'filters +\\{"action":"Delete\\.\\*"\\}',
    'ordered +yes',
    'headers +X-Team',
  ])
    assert.match(changed, new RegExp(`\\n${line}\\n`));
  const updated = parsed(
    await webhooks(['update', subscriptionId, '--no-ordered', '--json'], tenant),
  ) as Subscription;
  assert.deepEqual(
    [updated.url, updated.timeoutSeconds, updated.clearance, updated.ordered],
    ['http://127.0.0.1:10/', 5, 'Public', false],
  );

  assert.equal(await said('pause', 'Archive'), 'Archive is Paused\n');
  assert.equal(await said('resume', 'Archive'), 'Archive is Active\n');
  const rotated = await said('rotate-secret', 'Archive', '--grace-period', 'PT1H');
  assert.match(
    rotated,
    /^subscription id +\S{26}\nsecret +whsec_\S+ {2}\(it is not shown again\)\nold secret signs until +20\S+Z\n$/,
  );

  const unasked = await webhooks(['delete', 'Archive'], tenant);
  assert.deepEqual([unasked.code, /--yes/.test(unasked.stderr)], [2, true]);
  assert.equal(await said('delete', 'Archive', '--yes'), 'Archive is deleted\n');
  assert.match((await webhooks(['show', subscriptionId], tenant)).stderr, /SUBSCRIPTION_NOT_FOUND/);
});

test('deliveries show how the consumer answered', async () => {
  const tenant = 'answered';
  await using consumer = await Consumer.start();
  consumer.reply = () => (response) =>
    void response.writeHead(422).end(`no such\u001b thing ${'x'.repeat(100)}`);
  const made = await webhooks(['create', consumer.url, '--name', 'strict', '--json'], tenant);
  assert.equal((parsed(made) as NewSubscription).name, 'strict');
  await service.of(tenant).add([{}]);
  await consumer.gotMany(1);
  const rows = async () => (await webhooks(['deliveries', 'strict'], tenant)).stdout;
  await waitFor(async () => /RetryScheduled/.test(await rows()));
  assert.match(await rows(), / {2}1 {9}422 no such {2}thing x+… {2}/);
});

test('recover has events sent that came before the subscription', async () => {
  const tenant = 'recovered';
  await service.of(tenant).add([{}]);
  await using consumer = listening(['--secret', 'correct-horse-battery-staple']);
  const url = await addressOf(consumer);
  const made = await webhooks(['create', url, '--name', 'late', '--json'], tenant);
  assert.equal((parsed(made) as NewSubscription).name, 'late');
  const recovering = await webhooks(['recover', 'late', '--since', '2026-01-01'], tenant);
  assert.deepEqual([recovering.code, recovering.stderr], [0, '']);
  assert.match(recovering.stdout, /^recovering late since 2026-01-01T00:00:00\.000Z, as operation \S{26}\n$/);
  // The consumer was given another secret.
  await consumer.prints(/ {2}event\.notification {2}\S{36} {2}wrong-signature {2}/);
});

test('listen prints deliveries as JSON', async () => {
  const tenant = 'json';
  const made = parsed(
    await webhooks(['create', 'http://127.0.0.1:9/', '--name', 'n', '--events', '*', '--json'], tenant),
  ) as NewSubscription;
  const port = String(await freePort());
  await using command = start(['webhooks', 'listen', '--port', port, '--json'], {
    env: { ...env, TALLYSTICK_WEBHOOK_SECRET: made.secret! },
  });
  const served = policedTenant(service.url, tenant);
  await served.send('PATCH', `webhooks/subscriptions/${made.subscriptionId}`, {
    url: `http://127.0.0.1:${port}/`,
  });
  await waitFor(async () => (await webhooks(['test', 'n'], tenant)).code === 0);
  const [line] = await command.prints(/^.+\n/);
  const { verdict, webhookType, notification } = JSON.parse(line) as Heard;
  assert.deepEqual([verdict, webhookType], ['verified', 'system.event']);
  assert.equal((notification as Notification).webhookType, 'system.event');
  assert.deepEqual((await stopped(command)).stderr, '');
});

test('listen without a secret says that it verifies nothing, and refuses what is no delivery', async () => {
  await using command = listening([]);
  const url = await addressOf(command);
  assert.equal((await fetch(url, { method: 'POST', body: '{"webhookType":"x\\u001b"}' })).status, 204);
  await command.prints(/ {2}x\\u001b {2}\? {2}not-verified {2}\n/);
  assert.equal((await fetch(url, { method: 'POST', body: '{' })).status, 400);
  await command.prints(/ {2}\? {2}\? {2}malformed {2}\n/);
  assert.equal((await fetch(url, { method: 'POST', body: 'x'.repeat(2 ** 20 + 1) })).status, 413);
  const { code, stderr } = await stopped(command);
  assert.deepEqual([code, stderr], [0, 'tallystick: no secret was given: signatures are not verified\n']);
});

test('what is wrong is said in one line, with the exit code for it', async () => {
  const refusals: [args: string[], code: number, said: RegExp][] = [
    [['create', 'http://127.0.0.1/', '--name', 'n', '--events', 'Everything'], 2, /is no type of events/],
    [['create', 'http://127.0.0.1/', '--name', 'n', '--filters', '{'], 2, /--filters is not JSON/],
    [['create', 'http://127.0.0.1/', '--name', 'n', '--filters', '[]'], 2, /--filters is a JSON object/],
    [['create', 'http://127.0.0.1/', '--name', 'n', '--clearance', 'Top'], 2, /is no classification/],
    [['create', 'ftp://127.0.0.1/', '--name', 'n'], 1, /INVALID_WEBHOOK_URL/],
    [['list', '--status', 'Open'], 2, /there are Active, Paused, Failed/],
    [['test', 'SIEM'], 1, /there is no subscription "SIEM"/],
    [['deliveries', 'SIEM', '--limit', '0'], 2, /--limit is "0"; it is 1 to 1000/],
    [['redeliver', '01KE0000000000000000000042', 'a'], 1, /SUBSCRIPTION_NOT_FOUND/],
    [['update', '01KE0000000000000000000042'], 1, /SUBSCRIPTION_NOT_FOUND/],
    [['recover', 'SIEM', '--since', 'yesterday'], 1, /there is no subscription "SIEM"/],
    [['pause', 'SIEM'], 1, /there is no subscription "SIEM"/],
    [['listen', '--status', '99'], 2, /--status is "99"; it is 200 to 599/],
  ];
  for (const [args, code, said] of refusals) {
    const ended = await webhooks(args, 'wrong');
    assert.equal(ended.code, code, args.join(' '));
    assert.match(ended.stderr, said);
    assert.equal(ended.stderr.trimEnd().split('\n').length, 1, ended.stderr);
  }
  const alone = await run(['webhooks', 'listen', '--create'], { env });
  assert.deepEqual([alone.code, /--create needs --tenant/.test(alone.stderr)], [2, true]);
});
