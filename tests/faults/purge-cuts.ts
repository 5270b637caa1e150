// P12: the service is killed wherever a purge commits something. Behind each kill the store verifies, so that no content is
// gone without its notice; the next service finishes what was begun; and every proof that was ever given still verifies.

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { noteVerifier, parseEventProof, verifyEventProof } from '@tallystick/evidence';
import { until } from '../../packages/server/src/testing/until.ts';
import type { Backend } from './backends.ts';
import { Client, event } from './client.ts';
import { requireVerified } from './policies/requirements.ts';
import { SIZE } from './size.ts';
import { KEY, type Service, startService } from './running.ts';

const SCRIPT = join(import.meta.dirname, 'processes/cut-purges.ts');
const SHORT = {
  name: 'Short',
  policyType: 'Retention',
  rules: [{ conditions: { action: 'Delete.Invoice' }, effect: { retentionPeriod: 'PT1S' } }],
};
const EVENTS = 20;
/** Behind a purge: far more than it takes to come to any of the places. */
const CUT_MS_MAX = 10_000;

/** Where it is killed: see processes/cut-purges.ts. */
export type PurgeCut = 'Before' | 'Behind' | number;

export async function requirePurgesSurvive(
  open: () => Promise<Backend>,
  cuts: readonly PurgeCut[],
): Promise<void> {
  await using backend = await open();
  const file = join(backend.start.dataDirectory, '..', 'cut');
  const env = {
    ...backend.start.env,
    CUT_FILE: file,
    Retention__SweepInterval: 'PT1S',
    Log__CheckpointInterval: 'PT0.1S',
  };
  const start = () => startService({ ...backend.start, env, script: SCRIPT });
  const proofs: string[] = [];
  let kept = 0;
  for (const cut of cuts) {
    await using service = await start();
    await ask(service, 'POST', '/policies', SHORT, 409);
    let ended: number | string | undefined;
    // On a slow machine they may be purged before it is told where to end; then others are.
    while (ended === undefined) {
      proofs.push(...(await sendAndProve(service)));
      kept += 1;
      writeFileSync(file, String(cut));
      ended = await endOf(service, kept);
      rmSync(file);
    }
    assert.equal(ended, 'SIGKILL', `it is cut at ${cut}`);
    await backend.untilAlone?.();
    await backend.endLeases?.();
    await requireVerified(backend);
  }
  await using last = await start();
  await until(async () => (await listed(last)) === kept);
  const key = await text(last, '/log/t/acme/key');
  const verifiers = await Promise.all(key.trim().split('\n').map(noteVerifier));
  for (const proof of proofs) await verifyEventProof(parseEventProof(proof), { verifiers });
  await requireNothingDue(last);
  await last[Symbol.asyncDispose]();
  await backend.untilAlone?.();
  await requireVerified(backend);
}

/** Undefined: it has purged all that expires, before it was told where to end. */
async function endOf(service: Service, kept: number): Promise<number | string | undefined> {
  const missed = async () => {
    await until(async () => (await listed(service)) === kept);
    await pause(CUT_MS_MAX, undefined, { ref: false });
    return undefined;
  };
  return Promise.race([service.ended, missed().catch(() => service.ended)]);
}

/** Some that expire and one that does not; the proofs of all. */
async function sendAndProve(service: Service): Promise<string[]> {
  const events = Array.from({ length: EVENTS }, () => ({ ...event('expires'), action: 'Delete.Invoice' }));
  const body = { events: [...events, { ...event('stays'), action: 'Sign.Contract' }] };
  const sent = await ask<{ results: { eventId: string }[] }>(service, 'POST', '/audit-events/batch', body);
  const proofs: string[] = [];
  for (const { eventId } of sent.results) proofs.push(await text(service, `/audit-events/${eventId}/proof`));
  return proofs;
}

async function listed(service: Service): Promise<number> {
  const page = await ask<{ pagination: { total: number } }>(service, 'GET', '/audit-events?limit=1');
  return page.pagination.total;
}

/** Also not of what a notice names. */
async function requireNothingDue(service: Service): Promise<void> {
  await until(async () => {
    const { byPolicy } = await ask<{ byPolicy: unknown[] }>(service, 'GET', '/retention/preview');
    return byPolicy.length === 0;
  });
}

async function ask<T>(service: Service, method: string, path: string, body?: object, also = 200): Promise<T> {
  using client = new Client(service.url);
  const { status, body: answer } = await client.ask({ method, path: `/api/v1${path}`, body });
  assert.ok(status < 300 || status === also, `${method} ${path} is answered ${status}`);
  return answer as T;
}

async function text(service: Service, path: string): Promise<string> {
  const answer = await fetch(`${service.url}/api/v1${path}`, {
    headers: { 'X-API-Key': KEY, 'X-Tenant-Id': 'acme' },
  });
  assert.equal(answer.status, 200, path);
  return answer.text();
}

/** Statements from the notice on: few at the signing, then deleting, then what comes behind it. */
export const PURGE_CUTS: readonly PurgeCut[] = SIZE.isLong
  ? ['Before', 'Behind', ...Array.from({ length: 60 }, (_, i) => 1 + i * 3)]
  : ['Before', 'Behind', 4, 30];
