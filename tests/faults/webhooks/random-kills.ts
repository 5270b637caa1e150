// Services that are killed at random moments while events arrive and are delivered.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Backend } from '../backends.ts';
import { type Service, startService } from '../running.ts';
import { DeliveryPlace, WEBHOOK_ENV } from './delivery-place.ts';

/** From the first event that a service acknowledges until it is killed. */
const LIFE_MS_MAX = 1000;
/** So often that now and then two kills hit the same delivery. */
const EVERY_MS = 20;

/** `nodes` nodes serve at once, and one of them is killed each time. */
export async function requireNoneLostByKills(
  t: TestContext,
  open: () => Promise<Backend>,
  { kills, nodes }: { readonly kills: number; readonly nodes: number },
): Promise<void> {
  await using place = await DeliveryPlace.open(open);
  await using running = new AsyncDisposableStack();
  const { backend } = place;
  const start = async (number: number): Promise<Service> => {
    const env = { ...backend.start.env, ...WEBHOOK_ENV, Node__Name: `node-${number}` };
    return running.use(await startService({ ...backend.start, env }));
  };
  const services: Service[] = [];
  for (let i = 0; i < nodes; i++) services.push(await start(i));
  await place.subscribe(services[0]!.url);
  for (let kill = 0; kill < kills; kill++) {
    const service = services[kill % nodes]!;
    await sendUntilKilled(place, service, `kill ${kill}`);
    if (nodes === 1) await backend.untilAlone?.();
    await backend.endLeases?.();
    services[kill % nodes] = await start(kill % nodes);
  }
  t.diagnostic(`${kills} kills, ${await place.requireAll(services[0]!.url)}`);
}

async function sendUntilKilled(place: DeliveryPlace, service: Service, marker: string): Promise<void> {
  assert.ok(await place.send(service.url, marker), service.diagnostics());
  const killing = pause(Math.random() * LIFE_MS_MAX).then(() => service.kill('SIGKILL'));
  while (await place.send(service.url, marker)) await pause(EVERY_MS);
  await Promise.all([killing, service.ended]);
}
