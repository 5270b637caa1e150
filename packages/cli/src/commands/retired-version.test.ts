// A service that has retired version 1 of its interface: commands read it by version 2.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { until } from '../../../server/src/testing/until.ts';
import { emptyPlace } from '../testing/place.ts';
import { ADMIN_KEY, type RunningLog, startLog, TENANT } from '../testing/running-log.ts';
import { eventsIn } from '../testing/searched-log.ts';

const place = emptyPlace();
const STATE = ['--state', join(place.folder, 'state')];
const KEY = { TALLYSTICK_API_KEY: ADMIN_KEY };
let port: string;
let key: string;
let retired: RunningLog;

const startOn = (wanted: string, more: Readonly<Record<string, string>> = {}) =>
  startLog({ ...place, env: { ...place.env, Server__Port: wanted, ...more } });

before(async () => {
  {
    await using service = await startOn('0');
    await service.send(3);
    ({ port } = new URL(service.url));
    key = (await service.get(`log/t/${TENANT}/key`)).trim();
    const kept = await place.run(['verify', service.address, '--key', key, ...STATE], KEY);
    assert.equal(kept.code, 0, kept.stderr);
  }
  retired = await startOn(port, { ApiVersions__V1__State: 'Retired' });
  const headers = { 'X-API-Key': ADMIN_KEY, 'X-Tenant-Id': TENANT };
  await until(async () => {
    const listed = await fetch(`${retired.url}/api/v2/audit-events`, { headers });
    await listed.body?.cancel();
    return listed.headers.get('x-projection-lag-ms') === '0';
  });
});
after(async () => {
  await retired?.[Symbol.asyncDispose]();
  place[Symbol.dispose]();
});

describe('a service whose version 1 is retired', () => {
  it('is searched, by address and by the address of either version', async () => {
    for (const url of [retired.url, `${retired.url}/api/v1`, `${retired.url}/api/v2`]) {
      for (const more of [[], ['--sort', 'relevance']]) {
        const args = ['search', 'action:Delete.*', '--tenant', TENANT, '--json', '--url', url, ...more];
        const { code, stdout, stderr } = await place.run(args, KEY);
        assert.deepEqual([code, stderr, eventsIn(stdout).length], [0, '', 3], url);
      }
    }
  });

  it('shows a log that is verified, also one that was kept by its address of version 1', async () => {
    const tenant = ['--tenant', TENANT];
    const known = await place.run(['verify', retired.url, ...tenant, '--entries', ...STATE], KEY);
    assert.equal(known.code, 0, known.stdout + known.stderr);
    assert.match(known.stdout, /extends the checkpoint of size 3, seen before/);
    for (const [n, args] of [[`${retired.url}/api/v2`, ...tenant], [retired.address]].entries()) {
      const state = ['--state', join(place.folder, `state-${n}`)];
      const { code, stdout, stderr } = await place.run(['verify', ...args, '--key', key, ...state], KEY);
      assert.equal(code, 0, stdout + stderr);
    }
  });
});
