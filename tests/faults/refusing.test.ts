// P17: no request costs more to refuse than a sound one to take, in time of the processor and in memory. The time is that
// of reading the body, without what it takes to store one that is sound.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { AuditError, operationNamed } from '@tallystick/contract';
import { prepareReading } from '../../packages/server/src/protocols/rest/input.ts';
import { parseBody } from '../../packages/server/src/protocols/rest/parse-body.ts';
import { processorMs } from '../../packages/evidence/src/testing/processor-time.ts';
import { type HostileBody, hostileBodies, twins } from './hostile-bodies.ts';
import { KEY, type Service, startService, temporaryFolder } from './running.ts';
import { SIZE } from './size.ts';
import { residentMb } from './usage.ts';

/** How many times as long as the sound one with the same in it a refused one may take. */
const REFUSED_RATIO_MAX = SIZE.isLong ? 2 : 2.5;
/** And how many times as long as the quickest a sound one may, whatever is in it. */
const SOUND_RATIO_MAX = SIZE.isLong ? 2.5 : 3.5;
const GROWTH_MB_MAX = SIZE.isLong ? 100 : 150;
/** The least counts: what the engine does beside the work varies. */
const TIMES = SIZE.isLong ? 5 : 2;

const { body: rules } = prepareReading(operationNamed('events.ingestBatch'));

function leastMs(text: string): number {
  const bytes = Buffer.from(text);
  const parse = () => {
    try {
      parseBody(bytes, rules, true);
    } catch (error) {
      if (!(error instanceof AuditError)) throw error;
    }
  };
  return Math.min(...Array.from({ length: TIMES }, () => processorMs(parse)));
}

test('a batch of ten megabytes is refused in about the time that it takes to read a sound one', (t) => {
  const tooLong: string[] = [];
  const require = (said: string, ratio: number, max: number) => {
    t.diagnostic(`${said}: ${ratio.toFixed(2)}`);
    if (ratio > max) tooLong.push(`${said}: ${ratio}`);
  };
  let quickestMs: number | undefined;
  for (const { name, sound, refused } of [...twins()].slice(0, SIZE.isLong ? undefined : 2)) {
    const soundMs = leastMs(sound);
    quickestMs ??= soundMs;
    require(`${name}, sound, against the first`, soundMs / quickestMs, SOUND_RATIO_MAX);
    for (const [how, text] of Object.entries(refused)) {
      require(`${name}, ${how}, against sound`, leastMs(text) / soundMs, REFUSED_RATIO_MAX);
    }
  }
  assert.deepEqual(tooLong, []);
});

/** How much memory the service has more of meanwhile, in MB. */
async function growthMb(service: Service, { path, text }: Omit<HostileBody, 'name'>): Promise<number> {
  const beganMb = residentMb(service);
  let mostMb = beganMb;
  const watch = setInterval(() => (mostMb = Math.max(mostMb, residentMb(service))), 5);
  const response = await fetch(`${service.url}/api/v1${path}`, {
    method: 'POST',
    body: text,
    headers: { 'X-API-Key': KEY, 'X-Tenant-Id': 'acme', 'Content-Type': 'application/json' },
  });
  await response.arrayBuffer();
  clearInterval(watch);
  return mostMb - beganMb;
}

test('no batch makes the service take much memory', async (t) => {
  using folder = temporaryFolder();
  await using service = await startService({ dataDirectory: join(folder.path, 'data') });
  const path = '/audit-events/batch';
  // The thread that reads large bodies is there.
  await growthMb(service, { path, text: `{"x":"${'x'.repeat(1024 * 1024)}"}` });
  const tooMuch: string[] = [];
  for (const { name, text } of [...hostileBodies(SIZE.isLong)].filter((body) => body.path === path)) {
    const grewMb = await growthMb(service, { path, text });
    t.diagnostic(`${name}: ${grewMb.toFixed(0)} MB`);
    if (grewMb > GROWTH_MB_MAX) tooMuch.push(`${name}: ${grewMb} MB`);
  }
  assert.deepEqual(tooMuch, []);
});
