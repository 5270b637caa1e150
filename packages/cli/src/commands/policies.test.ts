// The real command against the real service: what is listed, printed, validated and compared.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { answering } from '../testing/answering.ts';
import { emptyPlace } from '../testing/place.ts';
import { policedTenant } from '../testing/policies-command.ts';
import { startSearched } from '../testing/searched-log.ts';
import { noTerminal, typeOnTerminal } from '../testing/terminal.ts';

const place = emptyPlace();
const service = await startSearched(place);
after(async () => {
  await service[Symbol.asyncDispose]();
  place[Symbol.dispose]();
});
const tenantOf = (tenant: string) => policedTenant(service.url, tenant);

const FINANCE = `# What the law asks for.
name: Finance retention
policyType: Retention
rules:
  - name: invoices
    conditions:
      resource.resourceType: Invoice
      payload.amount: { gt: 1000 }
    effect: { retentionPeriod: P7Y }
`;

describe('tallystick policies list', () => {
  it('is a table of all pages, or a JSON list', async () => {
    const many = tenantOf('many');
    const names = Array.from({ length: 130 }, (_, i) => `Policy ${i}`);
    for (const [i, name] of names.entries()) {
      const policyType = i % 2 === 0 ? 'Alert' : 'Access';
      await many.send('POST', 'policies', { name, policyType, status: i < 3 ? 'Draft' : 'Active' });
    }
    const { code, stdout, stderr } = await many.policies(['list']);
    assert.deepEqual([code, stderr], [0, '']);
    const [titles, first, ...others] = stdout.trimEnd().split('\n');
    assert.match(titles!, /^NAME +TYPE +STATUS +PRIORITY +VERSION +RULES +UPDATED +POLICY ID$/);
    assert.match(first!, /^Policy 0 +Alert +Draft +100 +1 +0 +20\S+Z +[0-9A-Z]{26}$/);
    assert.equal(others.length, 129);
    const listed = async (...args: string[]) => {
      const { stdout: json } = await many.policies(['list', '--json', ...args]);
      return (JSON.parse(json) as { name: string }[]).map(({ name }) => name);
    };
    assert.deepEqual(await listed(), names);
    assert.deepEqual(await listed('--type', 'Alert', '--status', 'Draft'), ['Policy 0', 'Policy 2']);
    assert.deepEqual(await listed('--status', 'Draft,Inactive'), names.slice(0, 3));
  });
});

describe('tallystick policies get', () => {
  it('prints a file that changes nothing when it is applied, and that another tenant can use', async () => {
    const [acme, other] = [tenantOf('get'), tenantOf('get-other')];
    await acme.policies(['apply', '-f', 'a.yaml', '--yes'], { 'a.yaml': FINANCE });
    const got = await acme.policies(['get', 'Finance retention']);
    assert.deepEqual([got.code, got.stderr], [0, '']);
    const [comment, ...lines] = got.stdout.split('\n');
    assert.match(comment!, /^# Version 1, by key:[0-9A-Z]{26} at 20\S+Z$/);
    assert.deepEqual(lines, [
      'name: Finance retention',
      'policyType: Retention',
      'status: Active',
      'priority: 100',
      'rules:',
      '  - name: invoices',
      '    conditions:',
      '      payload.amount:',
      '        gt: 1000',
      '      resource.resourceType: Invoice',
      '    effect:',
      '      retentionPeriod: P7Y',
      '',
    ]);
    const files = { 'b.yaml': got.stdout };
    assert.equal((await acme.policies(['diff', '-f', 'b.yaml'], files)).code, 0);
    await other.policies(['apply', '-f', 'b.yaml', '--yes'], files);
    const again = await other.policies(['get', 'Finance retention']);
    assert.deepEqual(again.stdout.split('\n').slice(1), lines);
  });

  it('takes the policyId and a version, and prints JSON as the service answers it', async () => {
    const acme = tenantOf('versions');
    await acme.policies(['apply', '-f', 'a.yaml', '--yes'], { 'a.yaml': FINANCE });
    await acme.policies(['apply', '-f', 'a.yaml', '--yes'], { 'a.yaml': `${FINANCE}priority: 7\n` });
    const [policy] = await acme.list();
    const { stdout } = await acme.policies(['get', policy!.policyId.toLowerCase(), '--json']);
    assert.deepEqual(JSON.parse(stdout), policy);
    const first = await acme.policies(['get', policy!.name, '--version', '1']);
    assert.match(first.stdout, /^# Version 1, by [^]*priority: 100$/m);
    const none = await acme.policies(['get', policy!.name, '--version', '9']);
    assert.deepEqual([none.code, none.stdout], [1, '']);
    assert.match(none.stderr, /has no version 9/);
    const unknown = await acme.policies(['get', 'Nobody']);
    assert.deepEqual(unknown.code, 1);
    assert.match(unknown.stderr, /^tallystick: there is no policy "Nobody"/);
  });

  it('reaches the versions of a deleted policy by its policyId', async () => {
    const acme = tenantOf('deleted');
    await acme.policies(['apply', '-f', 'a.yaml', '--yes'], { 'a.yaml': FINANCE });
    const [policy] = await acme.list();
    await acme.send('DELETE', `policies/${policy!.policyId}`);
    const first = await acme.policies(['get', policy!.policyId, '--version', '1', '--json']);
    assert.deepEqual([first.code, first.stderr], [0, '']);
    assert.deepEqual(JSON.parse(first.stdout), policy);
    const newest = await acme.policies(['get', policy!.policyId]);
    assert.deepEqual([newest.code, newest.stdout], [1, '']);
    assert.match(newest.stderr, /answers 404 \(POLICY_NOT_FOUND: There is no policy [0-9A-Z]{26}\.\)\n$/);
    const named = await acme.policies(['get', policy!.name, '--version', '1']);
    assert.match(named.stderr, /^tallystick: there is no policy "Finance retention"/);
  });

  it('steers no terminal, whatever a policy says', async () => {
    const hostile = '\u001b]0;owned\u0007\u009b31m\nfake: line\u202etxt.exe\u2028';
    const acme = tenantOf('hostile');
    await acme.send('POST', 'policies', {
      name: `a ${hostile.replaceAll(/\p{Cc}/gu, '')}`,
      description: hostile,
      policyType: 'Alert',
      rules: [{ conditions: { [`payload.${hostile.replace(']', '')}`]: hostile }, effect: {} }],
    });
    const [policy] = await acme.list();
    const yaml = await acme.policies(['get', policy!.policyId]);
    const files = {
      'a.yaml': yaml.stdout,
      'b.yaml': `${yaml.stdout}priority: 1\n`.replace('priority: 100\n', ''),
    };
    const shown = [
      yaml,
      await acme.policies(['get', policy!.policyId, '--json']),
      await acme.policies(['list']),
      await acme.policies(['diff', '-f', 'b.yaml'], files),
      await acme.policies(['apply', '-f', 'b.yaml', '--dry-run'], files),
      await acme.policies(['validate', '-f', 'b.yaml'], files),
    ];
    for (const { stdout, stderr } of shown) {
      assert.ok(stdout.length > 0);
      // oxlint-disable-next-line no-control-regex -- they are what is looked for
      assert.doesNotMatch(stdout + stderr, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e]/);
    }
    const same = await acme.policies(['diff', '-f', 'a.yaml'], files);
    assert.deepEqual([same.code, same.stdout, same.stderr], [0, '', '']);
  });
});

describe('tallystick policies templates', () => {
  it('are a table; one of them is a file that can be applied', async () => {
    const acme = tenantOf('templates');
    const table = await acme.policies(['templates']);
    assert.equal(table.code, 0);
    assert.match(table.stdout, /^TEMPLATE ID +FRAMEWORK +TYPE +RULES +NAME +DESCRIPTION\n/);
    const ids = table.stdout
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => line.split(' ')[0]!);
    assert.ok(ids.includes('sox-retention'));
    const files: Record<string, string> = {};
    for (const id of ids) files[`${id}.yaml`] = (await acme.policies(['templates', id])).stdout;
    assert.match(files['sox-retention.yaml']!, /^# SOX: seven years\n# [^]*\nname: SOX retention\n/);
    const applied = await acme.policies(['apply', '-f', '.', '--yes'], files);
    assert.deepEqual([applied.code, applied.stderr], [0, '']);
    const again = await acme.policies(['apply', '-f', '.', '--yes'], files);
    assert.match(again.stdout, new RegExp(`\\n${ids.length} policies: ${ids.length} unchanged\\.\\n$`));
    const json = await acme.policies(['templates', 'sox-retention', '--json']);
    assert.equal((JSON.parse(json.stdout) as { templateId: string }).templateId, 'sox-retention');
    const none = await acme.policies(['templates', 'soc2']);
    assert.equal(none.code, 1);
    assert.match(none.stderr, /^tallystick: there is no template "soc2"; there are gdpr-minimisation, /);
  });
});

describe('tallystick policies validate', () => {
  const acme = tenantOf('validate');
  const log = service.of('validate');

  it('says what valid policies would match, and warns of rules without effect', async () => {
    const one = await acme.policies(['validate', '-f', 'a.yaml'], { 'a.yaml': FINANCE });
    assert.equal(
      one.stdout,
      'a.yaml:2: Finance retention: valid; there are no events to try it on\n1 policy: 1 valid.\n',
    );
    await log.add([
      { timestamp: '2026-01-01T00:00:00Z', payload: { amount: 2000 } },
      { timestamp: '2026-01-02T00:00:00Z', payload: { amount: 3000 } },
      { timestamp: '2026-01-03T00:00:00Z', payload: { amount: 4 } },
    ]);
    const odd = `${FINANCE}  - { name: all, effect: { retentionPeriod: P9Y } }\n`;
    const many = await acme.policies(['validate', '-f', 'a.yaml'], {
      'a.yaml': `${FINANCE}---\n${odd.replace('Finance', 'Odd')}`,
    });
    assert.deepEqual([many.code, many.stderr], [0, '']);
    const [first, warning, second, closing] = many.stdout.split('\n');
    assert.match(
      first!,
      /^a\.yaml:2: Finance retention: valid; would match 2 of the 3 newest events, such as [0-9A-Z]{26}, [0-9A-Z]{26}$/,
    );
    assert.match(
      warning!,
      /^a\.yaml:15: warning: Odd retention: rules\[0\] \(rule "invoices"\) never decides: rules\[1\] \(all\) /,
    );
    assert.match(second!, /: Odd retention: valid; would match 3 of the 3 newest events, /);
    assert.equal(closing, '2 policies: 2 valid.');
    const ranged = await acme.policies(
      ['validate', '-f', 'a.yaml', '--from', '2026-01-02', '--to', '2026-01-02'],
      { 'a.yaml': FINANCE },
    );
    assert.match(ranged.stdout, /would match 1 of 1 event of that time, such as/);
  });

  it('is exit code 1 with each error, its file and line, policy, field and issue', async () => {
    const wrong = FINANCE.replace('P7Y', 'seven').replace('Retention\n', 'Retention\ncolour: red\n');
    const { code, stdout, stderr } = await acme.policies(['validate', '-f', 'a.yaml', '-f', 'b.json'], {
      'a.yaml': wrong,
      'b.json': '[\n  { "name": "Empty", "policyType": "Alert" },\n  { "policyType": "Acess" }\n]',
    });
    assert.deepEqual([code, stderr], [1, '']);
    const lines = stdout.split('\n');
    assert.match(lines[0]!, /^a\.yaml:4: error: Finance retention: colour is not a known field/);
    assert.match(
      lines[1]!,
      /^a\.yaml:10: error: Finance retention: rules\[0\]\.effect\.retentionPeriod \(rule "invoices"\) must be .*; it is "seven"$/,
    );
    assert.match(lines[2]!, /^b\.json:2: Empty: valid; /);
    assert.match(lines[3]!, /^b\.json:3: error: a policy without a name: name is required/);
    assert.match(
      lines[4]!,
      /^b\.json:3: error: a policy without a name: policyType must be .*; it is "Acess"$/,
    );
    assert.equal(lines[5], '3 policies: 1 valid, 2 not valid.');
  });

  it('is exit code 2 and one line where the command line or a file is wrong', async () => {
    const files = { 'a.yaml': 'name: a\nname: b\n', 'b.yaml': '- a\n' };
    for (const [args, says] of [
      [['validate', '-f', 'a.yaml'], /^tallystick: a\.yaml:2: duplicate key "name"\n$/],
      [['diff', '-f', 'b.yaml'], /^tallystick: b\.yaml:1: a policy must be a mapping, not a list\n$/],
      [['apply', '-f', 'none.yaml'], /^tallystick: cannot read none\.yaml: no such file\n$/],
      [['validate', '-f', 'a.yaml', '--from', 'then'], /^tallystick: --from is "then"/],
      [['validate'], /^tallystick: required option '-f, --file <file>' not specified/],
      [
        ['list', '--type', 'Alarm'],
        /^tallystick: "Alarm" is no type of policies; there are Classification, /,
      ],
      [['list', '--status', ''], /^tallystick: "" is no status of policies; there are Draft, /],
      [['get', 'a', '--version', 'one'], /^tallystick: --version is "one"/],
    ] as const) {
      const { code, stdout, stderr } = await acme.policies(args, files);
      assert.deepEqual([code, stdout], [2, ''], args.join(' '));
      assert.match(stderr, says);
    }
  });
});

describe('tallystick policies diff', () => {
  const acme = tenantOf('diff');

  it('shows what apply would change, and has the exit codes of diff', async () => {
    const created = await acme.policies(['diff', '-f', 'a.yaml'], { 'a.yaml': FINANCE });
    assert.equal(created.code, 1);
    assert.match(
      created.stdout,
      /^--- Finance retention \(not there\)\n\+\+\+ a\.yaml:2\n@@ -0,0 \+1,12 @@\n(\+.*\n){12}$/,
    );
    await acme.policies(['apply', '-f', 'a.yaml', '--yes'], { 'a.yaml': FINANCE });
    // Order, defaults, ids and empty optional members make no difference.
    const same = `{
      "rules": [{ "effect": { "retentionPeriod": "P7Y" }, "ruleId": "x", "enabled": true, "name": "invoices",
        "conditions": { "resource.resourceType": "Invoice", "payload.amount": { "gt": 1e3 } } }],
      "version": 9, "active": true, "description": null, "name": "Finance retention", "policyType": "Retention"
    }`;
    const none = await acme.policies(['diff', '-f', 'a.json'], { 'a.json': same });
    assert.deepEqual([none.code, none.stdout, none.stderr], [0, '', '']);
    const changed = await acme.policies(['diff', '-f', 'a.yaml'], {
      'a.yaml': `${FINANCE.replace('P7Y', 'P9Y')}status: Draft\n`,
    });
    assert.equal(changed.code, 1);
    assert.equal(
      changed.stdout,
      [
        '--- Finance retention (version 1)',
        '+++ a.yaml:2',
        '@@ -1,6 +1,6 @@',
        ' name: Finance retention',
        ' policyType: Retention',
        '-status: Active',
        '+status: Draft',
        ' priority: 100',
        ' rules:',
        '   - name: invoices',
        '@@ -9,4 +9,4 @@',
        '         gt: 1000',
        '       resource.resourceType: Invoice',
        '     effect:',
        '-      retentionPeriod: P7Y',
        '+      retentionPeriod: P9Y',
        '',
      ].join('\n'),
    );
  });

  it('is exit code 2 where it fails', async () => {
    const invalid = await acme.policies(['diff', '-f', 'a.yaml'], { 'a.yaml': 'name: x\n' });
    assert.deepEqual([invalid.code, invalid.stdout], [2, '']);
    assert.match(invalid.stderr, /^tallystick: a\.yaml:1: error: x: policyType is required/);
    const away = await acme.policies(['diff', '-f', 'a.yaml', '--url', 'http://127.0.0.1:9'], {
      'a.yaml': FINANCE,
    });
    assert.deepEqual([away.code, away.stdout], [2, '']);
    assert.match(away.stderr, /^tallystick: cannot reach http:\/\/127\.0\.0\.1:9\//);
  });

  it('is coloured on a terminal, and nowhere else', { skip: noTerminal }, async () => {
    const file = join(place.folder, 'coloured.yaml');
    writeFileSync(file, 'name: New\npolicyType: Alert\n');
    const args = ['policies', 'diff', '--tenant', 'diff', '-f', file];
    const { shown } = await typeOnTerminal(args, '', { env: acme.env });
    assert.ok(shown.startsWith('\u001b[1m--- New (not there)\u001b[22m\n'), JSON.stringify(shown));
    assert.ok(shown.includes('\n\u001b[32m+name: New\u001b[39m\n'), JSON.stringify(shown));
  });
});

describe('a service that cannot be asked', () => {
  it('is exit code 1 and one line that says what to do', async () => {
    const acme = tenantOf('acme');
    const viewer = await place.run(['keys', 'create', '--tenant', 'acme', '--role', 'Viewer']);
    const auditor = await place.run(['keys', 'create', '--tenant', 'acme', '--role', 'Auditor']);
    const files = { 'a.yaml': FINANCE };
    await using odd = await answering((_, response) => void response.end('{"data":[{"name":1}]}'));
    for (const [args, says] of [
      [
        ['list', '--api-key', 'wrong'],
        /answers 401 \(.*: give an API key that may read policies \(audit:policy\)/,
      ],
      [
        ['list', '--api-key', viewer.stdout.trim()],
        /answers 403 \(.*: the API key may not read policies here/,
      ],
      [
        ['apply', '-f', 'a.yaml', '--yes', '--api-key', auditor.stdout.trim()],
        /answers 403 \(.*may not change policies/,
      ],
      [['list', '--url', odd.url], /not of the shape/],
      [['templates', '--url', odd.url], /not of the shape/],
      [['validate', '-f', 'a.yaml', '--url', odd.url], /not of the shape/],
    ] as const) {
      const { code, stdout, stderr } = await acme.policies(args, files);
      assert.deepEqual([code, stdout], [1, ''], args.join(' '));
      assert.match(stderr, says);
      assert.match(stderr.split('\n').at(-2)!, /^tallystick: /);
    }
    assert.deepEqual(await acme.list(), []);
  });
});
