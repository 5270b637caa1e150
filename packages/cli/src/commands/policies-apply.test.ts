// The real command against the real service: policies that are created and changed from files.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { emptyPlace } from '../testing/place.ts';
import { policedTenant } from '../testing/policies-command.ts';
import { startLog, startProxy } from '../testing/running-log.ts';
import { noTerminal, typeOnTerminal } from '../testing/terminal.ts';

const place = emptyPlace();
const service = await startLog(place);
after(async () => {
  await service[Symbol.asyncDispose]();
  place[Symbol.dispose]();
});
const tenantOf = (tenant: string) => policedTenant(service.url, tenant);

const ALERT = (name: string, more = '') => `name: ${name}\npolicyType: Alert\n${more}`;
const RULES = `rules:
  - name: denied
    conditions: { outcome: Denied }
    effect: {}
  - conditions: { action: Delete.* }
    effect: { severity: High }
`;

describe('tallystick policies apply', () => {
  it('creates what is missing, changes what differs, and does nothing the second time', async () => {
    const acme = tenantOf('apply');
    const files = {
      'one.yaml': `${ALERT('One', RULES)}---\n${ALERT('Two', 'active: false\ndescription:\n')}`,
      'three.json': '{ "name": "Three", "policyType": "Access" }',
    };
    const args = ['apply', '-f', '.', '--yes'];
    const made = await acme.policies(args, files);
    assert.deepEqual(
      [made.code, made.stdout, made.stderr],
      [0, 'One: created\nTwo: created\nThree: created\n3 policies: 3 created.\n', ''],
    );
    const before = await acme.list();
    assert.deepEqual(
      before.map(({ name, status, version }) => [name, status, version]),
      [
        ['One', 'Active', 1],
        ['Two', 'Inactive', 1],
        ['Three', 'Active', 1],
      ],
    );
    const again = await acme.policies(args, files);
    assert.deepEqual(
      [again.code, again.stdout],
      [0, 'One: unchanged\nTwo: unchanged\nThree: unchanged\n3 policies: 3 unchanged.\n'],
    );
    assert.deepEqual(await acme.list(), before);

    const next = { ...files, 'one.yaml': files['one.yaml'].replace('High', 'Low') };
    const planned = await acme.policies(['apply', '-f', '.', '--dry-run'], next);
    assert.deepEqual(
      [planned.code, planned.stdout],
      [
        0,
        'One: would be changed (version 1)\nTwo: unchanged\nThree: unchanged\n' +
          '3 policies: 1 would be changed, 2 unchanged.\n',
      ],
    );
    assert.deepEqual(await acme.list(), before);
    const changed = await acme.policies(args, next);
    assert.deepEqual(
      [changed.code, changed.stdout],
      [
        0,
        'One: changed (version 1 → 2)\nTwo: unchanged\nThree: unchanged\n3 policies: 1 changed, 2 unchanged.\n',
      ],
    );
    const [one] = await acme.list();
    assert.deepEqual([one!.version, one!.rules[1]!.effect], [2, { severity: 'Low' }]);
    assert.deepEqual(
      one!.rules.map(({ ruleId }) => ruleId),
      before[0]!.rules.map(({ ruleId }) => ruleId),
      'rules that stay keep their ids',
    );
  });

  it('creates a policy again that was deleted', async () => {
    const acme = tenantOf('deleted');
    const files = { 'a.yaml': ALERT('A') };
    await acme.policies(['apply', '-f', 'a.yaml', '--yes'], files);
    const [first] = await acme.list();
    await acme.send('DELETE', `policies/${first!.policyId}`);
    const again = await acme.policies(['apply', '-f', 'a.yaml', '--yes'], files);
    assert.match(again.stdout, /^A: created\n/);
    const [second, ...others] = await acme.list();
    assert.notEqual(second!.policyId, first!.policyId);
    assert.deepEqual(others, []);
  });

  it('changes nothing if one of them is not valid', async () => {
    const acme = tenantOf('invalid');
    const { code, stdout, stderr } = await acme.policies(['apply', '-f', 'a.yaml', '-f', 'b.yml', '--yes'], {
      'a.yaml': ALERT('Good'),
      'b.yml': ALERT('Bad', 'rules:\n  - name: odd\n    effect:\n      access: Deny\n'),
    });
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(
      stderr,
      /^tallystick: b\.yml:6: error: Bad: rules\[0\]\.effect\.access \(rule "odd"\) belongs in no effect .*\ntallystick: nothing was changed: not every policy is valid\n$/,
    );
    assert.deepEqual(await acme.list(), []);
  });

  it('warns of what is odd about a policy that it changes', async () => {
    const acme = tenantOf('odd');
    const odd = ALERT('Odd', 'rules:\n  - conditions: { payload.a: { gt: 2, lt: 1 } }\n    effect: {}\n');
    const made = await acme.policies(['apply', '-f', 'a.yaml', '--yes'], { 'a.yaml': odd });
    assert.equal(made.code, 0);
    assert.match(made.stderr, /^tallystick: a\.yaml:4: warning: Odd: rules\[0\]\.conditions can never hold/);
    const again = await acme.policies(['apply', '-f', 'a.yaml', '--yes'], { 'a.yaml': odd });
    assert.equal(again.stderr, '');
  });

  it('asks first on a terminal, and needs --yes where there is none', { skip: noTerminal }, async () => {
    const acme = tenantOf('asked');
    const file = join(place.folder, 'asked.yaml');
    writeFileSync(file, ALERT('Asked'));
    const args = ['policies', 'apply', '--tenant', 'asked', '-f', file];
    const env = { ...acme.env, NO_COLOR: '1' };
    for (const typed of ['no\n', '\u0004']) {
      const refused = await typeOnTerminal(args, typed, { env });
      assert.equal(refused.code, 1);
      assert.match(
        refused.shown,
        /Asked: would be created\n[^]*Make 1 change\? Type yes: [^]*nothing was changed\n$/,
      );
    }
    const none = await acme.policies(['apply', '-f', file]);
    assert.equal(none.code, 2);
    assert.match(none.stderr, /^tallystick: there is no terminal to ask on: .* --yes\n$/);
    assert.deepEqual(await acme.list(), []);
    const agreed = await typeOnTerminal(args, 'yes\n', { env });
    assert.equal(agreed.code, 0);
    assert.match(agreed.shown, /Asked: created\n1 policy: 1 created\.\n$/);
    assert.equal((await acme.list()).length, 1);
  });
});

describe('while others are at work', () => {
  it('a policy that someone else has changed meanwhile is not overwritten', async () => {
    const acme = tenantOf('conflict');
    const files = { 'a.yaml': `${ALERT('A')}---\n${ALERT('B')}---\n${ALERT('C')}` };
    await acme.policies(['apply', '-f', 'a.yaml', '--yes'], files);
    const [, b] = await acme.list();
    await using proxy = await startProxy(service.url);
    proxy.before = async ({ method, url }) => {
      if (method !== 'PUT' || !url!.endsWith(b!.policyId)) return;
      await acme.send('PUT', `policies/${b!.policyId}`, { ...b, description: 'of somebody else' });
    };
    const { code, stdout, stderr } = await acme.policies(
      ['apply', '-f', 'a.yaml', '--yes', '--url', proxy.url],
      { 'a.yaml': files['a.yaml'].replaceAll('Alert\n', 'Alert\npriority: 5\n') },
    );
    assert.deepEqual([code, stdout], [1, 'A: changed (version 1 → 2)\n']);
    assert.match(
      stderr,
      /^tallystick: stopped after 1 of 3 changes\ntallystick: someone else has changed the policy B meanwhile \(VERSION_CONFLICT\)/,
    );
    assert.deepEqual(
      (await acme.list()).map(({ name, version, priority }) => [name, version, priority]),
      [
        ['A', 2, 5],
        ['B', 2, 100],
        ['C', 1, 100],
      ],
    );
  });

  it('a policy that someone else has created meanwhile is not changed', async () => {
    const acme = tenantOf('made');
    await using proxy = await startProxy(service.url);
    proxy.before = async ({ method, url }) => {
      if (method !== 'POST' || !url!.endsWith('/policies')) return;
      await acme.send('POST', 'policies', { name: 'A', policyType: 'Access' });
    };
    const { code, stderr } = await acme.policies(['apply', '-f', 'a.yaml', '--yes', '--url', proxy.url], {
      'a.yaml': ALERT('A'),
    });
    assert.equal(code, 1);
    assert.match(stderr, /someone else has changed the policy A meanwhile \(DUPLICATE_NAME\)/);
    assert.deepEqual(
      (await acme.list()).map(({ policyType }) => policyType),
      ['Access'],
    );
  });

  it('a change whose answer is lost is retried, and done once', async () => {
    const acme = tenantOf('lost');
    await using proxy = await startProxy(service.url);
    const lost = new Set<string>();
    proxy.loses = ({ method, url }) => {
      const isLost = /^POST .*\/policies$|^PUT /.test(`${method} ${url}`) && !lost.has(method!);
      if (isLost) lost.add(method!);
      return isLost;
    };
    const apply = (text: string) =>
      acme.policies(['apply', '-f', 'a.yaml', '--yes', '--url', proxy.url], { 'a.yaml': text });
    const made = await apply(ALERT('A', RULES));
    assert.deepEqual([made.code, made.stdout, made.stderr], [0, 'A: created\n1 policy: 1 created.\n', '']);
    const changed = await apply(ALERT('A', `priority: 5\n${RULES}`));
    assert.deepEqual(
      [changed.code, changed.stdout, changed.stderr],
      [0, 'A: changed (version 1 → 2)\n1 policy: 1 changed.\n', ''],
    );
    assert.deepEqual([...lost], ['POST', 'PUT']);
    assert.deepEqual(
      (await acme.list()).map(({ version, priority }) => [version, priority]),
      [[2, 5]],
    );
  });
});

describe('a service whose version 1 has ended', () => {
  for (const state of ['Sunset', 'Retired'])
    it(`is changed by version 2: ${state}`, async () => {
      using elsewhere = emptyPlace();
      await using ended = await startLog({
        ...elsewhere,
        env: { ...elsewhere.env, ApiVersions__V1__State: state },
      });
      const acme = policedTenant(ended.url, 'acme');
      for (const says of [/^A: created\n/, /^A: unchanged\n/]) {
        const { code, stdout, stderr } = await acme.policies(['apply', '-f', 'a.yaml', '--yes'], {
          'a.yaml': ALERT('A'),
        });
        assert.deepEqual([code, stderr], [0, '']);
        assert.match(stdout, says);
      }
    });
});
