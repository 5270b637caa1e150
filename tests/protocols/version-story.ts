// The end of the story that is told over every protocol: a version grows old, and one who asks too often is told to wait.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { EVENT } from '../../packages/server/src/testing/bound-operations.ts';
import type { Spoken } from './speaker.ts';
import { setStage, type Stage } from './story-app.ts';

const WINDOW = '01:00:00';
const LIMITED = {
  RateLimiting__EnableRateLimiting: 'true',
  RateLimiting__GlobalLimiter__PermitLimit: '8',
  RateLimiting__GlobalLimiter__Window: WINDOW,
  McpRateLimiting__McpLimiter__PermitLimit: '8',
  McpRateLimiting__McpLimiter__Window: WINDOW,
};
const DATES = { DeprecationDate: '2026-01-01', SunsetDate: '2026-06-01' };

/** A service whose first version that the protocol speaks is in this state. */
async function stageIn(state: string, spoken: Spoken, settings: Record<string, string> = {}): Promise<Stage> {
  const dates = Object.entries({ State: state, ...DATES });
  const named = (prefix: string) => Object.fromEntries(dates.map(([key, value]) => [prefix + key, value]));
  const prefix = `ApiVersions__${spoken.versions[0]!.toUpperCase()}__`;
  return setStage(spoken, { ...named(prefix), ...settings });
}

export function tellVersions(spoken: Spoken): void {
  it(`over ${spoken.protocol}, a deprecated version says so, and who asks too often is told to wait`, async () => {
    await using stage = await stageIn('Deprecated', spoken, LIMITED);
    const { kind, headers } = await stage.ask('events.ingest', { event: EVENT });
    assert.equal(kind, 'Created');
    assert.deepEqual(
      [headers['x-api-deprecated'], headers['x-api-deprecation-date'], headers['deprecation']],
      ['true', '2026-01-01', '@1767225600'],
    );
    let last = await stage.ask('streams.list', {});
    assert.ok(Number(last.headers['x-ratelimit-limit']) > 0);
    for (let i = 0; i < 10 && last.error === undefined; i++) last = await stage.ask('streams.list', {});
    assert.equal(last.error?.code, 'RATE_LIMITED');
    const seconds = Number(last.headers['retry-after']);
    assert.ok(seconds >= 1 && seconds <= 3600, `${seconds} s`);
  });

  it(`over ${spoken.protocol}, a sunset version only reads`, async () => {
    await using stage = await stageIn('Sunset', spoken);
    assert.equal((await stage.ask('streams.list', {})).kind, 'Done');
    assert.equal((await stage.ask('events.ingest', { event: EVENT })).error?.code, 'API_VERSION_SUNSET');
  });

  it(`over ${spoken.protocol}, a retired version is gone`, async () => {
    await using stage = await stageIn('Retired', spoken);
    for (const by of [stage.callers.admin, {}])
      assert.equal((await stage.ask('streams.list', {}, by)).error?.code, 'API_VERSION_RETIRED');
  });
}
