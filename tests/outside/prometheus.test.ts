// What the service shows Prometheus, judged by Prometheus' own tool.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, it } from 'node:test';
import {
  type AdminCaller,
  adminCaller,
  callerOf,
  WITH_PLATFORM_KEY,
} from '../../packages/server/src/testing/admin-caller.ts';
import { startTestApp, type TestApp } from '../../packages/server/src/testing/test-app.ts';

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
