// How long the service takes to be ready (W10), and how many bytes on disk an event takes (W11).

import { readdirSync, statSync } from 'node:fs';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Benchmark } from './measure.ts';
import { ADMIN_KEY, applyLoad, startService } from './processes/processes.ts';
import { standardEvent } from './standard-event.ts';

const STARTS = 5;
const EVENTS_MIN = 100_000;

export const benchmark: Benchmark = {
  name: 'store',
  title: 'W10, W11: start to ready, bytes on disk',
  async run() {
    const folder = mkdtempSync(join(tmpdir(), 'tallystick-bench-'));
    try {
      const emptyMs = await bestStart(() => join(folder, `empty-${performance.now()}`));
      const filled = join(folder, 'filled');
      const events = await fill(filled);
      const filledMs = await bestStart(() => filled);
      const perEvent = bytesIn(filled, /^journal\.db/) / events;
      const body = Buffer.byteLength(JSON.stringify(standardEvent()));
      return [
        { name: 'W10 start to ready, empty', figure: `${Math.round(emptyMs)} ms`, goal: '< 1 s' },
        { name: `W10 start to ready, ${events} events`, figure: `${Math.round(filledMs)} ms`, goal: '< 2 s' },
        {
          name: 'W11 log, bytes per event',
          figure: `${Math.round(perEvent)} B`,
          against: `the body (${body} B)`,
          ratio: perEvent / body,
          goal: '<= 1.5',
        },
      ];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function bestStart(directory: () => string): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < STARTS; i++) {
    await using service = await startService(directory());
    best = Math.min(best, service.readyMs);
  }
  return best;
}

/** Fills a store through the service, in batches; says how many events are in it. */
async function fill(directory: string): Promise<number> {
  await using service = await startService(directory);
  const load = {
    port: service.port,
    path: '/api/v1/audit-events/batch',
    connections: 4,
    eventsPerRequest: 500,
    durationMs: 1000,
    tenants: 1,
    tenantPrefix: 'acme',
    apiKey: ADMIN_KEY,
  };
  let sequence = 0;
  while (sequence < EVENTS_MIN) {
    await applyLoad(load);
    sequence = await lastSequence(service.port);
  }
  return sequence;
}

/** Sends one more event and reads what place it got. */
async function lastSequence(port: number): Promise<number> {
  const url = `http://127.0.0.1:${port}/api/v1/audit-events`;
  const headers = { 'X-API-Key': ADMIN_KEY, 'X-Tenant-Id': 'acme-0', 'Content-Type': 'application/json' };
  const sent = await fetch(url, { method: 'POST', headers, body: JSON.stringify(standardEvent()) });
  const { eventId } = (await sent.json()) as { eventId: string };
  const got = await fetch(`${url}/${eventId}`, { headers });
  return ((await got.json()) as { sequence: number }).sequence;
}

function bytesIn(directory: string, names: RegExp): number {
  return readdirSync(directory)
    .filter((name) => names.test(name))
    .reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
}
