// What the service shows Prometheus, and what deploy/ has for it, judged by Prometheus' own tool.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import {
  type AdminCaller,
  adminCaller,
  callerOf,
  WITH_PLATFORM_KEY,
} from '../../packages/server/src/testing/admin-caller.ts';
import { startTestApp, type TestApp } from '../../packages/server/src/testing/test-app.ts';
import { readText, ROOT } from '../source.ts';

const skip =
  spawnSync('promtool', ['--version']).error === undefined
    ? false
    : 'there is no promtool on this machine; the package prometheus has it';

let app: TestApp;
let acme: AdminCaller;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY);
  acme = await callerOf(app, 'acme');
  await acme.send(5);
});
after(() => app[Symbol.asyncDispose]());

/** Its complaints; none if it has nothing to say. */
function promtool(words: readonly string[], input = ''): string {
  const { status, stdout, stderr } = spawnSync('promtool', words, { input, encoding: 'utf8' });
  return status === 0 ? stderr : `${status} ${stdout}${stderr}`;
}

it('promtool has no complaint about the metrics of the process and of a tenant', { skip }, async () => {
  const ofProcess = await adminCaller(app, 'acme').get('/metrics');
  const ofTenant = await acme.get('/api/v1/admin/metrics', { Accept: 'text/plain' });
  for (const { code, text } of [ofProcess, ofTenant]) {
    assert.equal(code, '200');
    assert.equal(promtool(['check', 'metrics'], text), '');
  }
  assert.notEqual(promtool(['check', 'metrics'], 'no metrics'), '', 'the tool complains where it should');
});

const RULES = join(ROOT, 'deploy/prometheus');

it('promtool has no complaint about the alerts, and each fires where it should', { skip }, () => {
  assert.equal(promtool(['check', 'rules', '--lint=all', '--lint-fatal', join(RULES, 'alerts.yml')]), '');
  assert.equal(promtool(['test', 'rules', join(RULES, 'alerts.test.yml')]), '');
});

interface Dashboard {
  readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
}

it('promtool understands every query of the dashboard', { skip }, () => {
  const { panels } = JSON.parse(readText('deploy/grafana/tallystick.json')) as Dashboard;
  const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  assert.ok(queries.length > 20);
  // Grafana puts these in.
  const asked = queries.map((expr) =>
    expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(job|instance)/g, '.+'),
  );
  const rules = asked.map((expr, i) => ({ record: `query_${i}`, expr }));
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-prometheus-'));
  const file = join(folder, 'queries.yml');
  const check = (written: typeof rules) => {
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'queries', rules: written }] }));
    return promtool(['check', 'rules', '--lint=none', file]);
  };
  try {
    assert.equal(check(rules), '');
    assert.notEqual(check([{ record: 'query', expr: 'sum(' }]), '', 'the tool complains where it should');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
