// The service in this process, by a clock that the test holds and on a data directory that outlives it: to be stopped
// at one time and started at another.

import type { Overrides } from '../../packages/server/src/app/surroundings.ts';
import { createFakeClock, type FakeClock } from '../../packages/server/src/testing/fake-clock.ts';
import { startTestApp } from '../../packages/server/src/testing/test-app.ts';
import { type Ask, Client, event, type Reply } from './client.ts';
import { KEY } from './running.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** When these tests take place. */
export const START_MS = Date.UTC(2026, 5, 1, 12);

export interface Sent {
  readonly status: number;
  readonly eventId: string;
  readonly receivedAtMs: number;
}

export interface TimedService extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly ask: (ask: Ask) => Promise<Reply>;
  readonly send: (marker: string, more?: Omit<Ask, 'body'>) => Promise<Sent>;
}

/** A start has a clock of its own, as a process has: what it counts by itself begins anew. */
export async function startInTime(
  dataDirectory: string,
  nowMs = START_MS,
  overrides: Overrides = {},
  env: Readonly<Record<string, string>> = {},
): Promise<TimedService> {
  const clock = createFakeClock(nowMs);
  const settings = {
    TALLYSTICK_ADMIN_KEY: KEY,
    Storage__DataDirectory: dataDirectory,
    // Letting a day pass waits for all that falls due in it; these tests are not about checkpoints.
    Log__CheckpointInterval: 'PT1M',
    ...env,
  };
  const app = await startTestApp(settings, { clock, ...overrides });
  const client = new Client(app.url);
  return {
    clock,
    ask: (ask) => client.ask(ask),
    async send(marker, more = {}) {
      const reply = await client.ask({ ...more, body: event(marker) });
      const { eventId, timestamp } = reply.body as { eventId: string; timestamp: string };
      return { status: reply.status, eventId, receivedAtMs: Date.parse(timestamp) };
    },
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      await app[Symbol.asyncDispose]();
    },
  };
}
