// Exports of a service that is killed again and again, for tests.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Export, ExportReceipt, ExportRequest } from '@tallystick/contract';
import { KEY, type Service } from './running.ts';

const TENANT = 'exported';
const HEADERS = { 'X-API-Key': KEY, 'X-Tenant-Id': TENANT, 'Content-Type': 'application/json' };
export const BATCH = 500;

export async function asked<T>(service: Service, method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`${service.url}/api/v1${path}`, {
    method,
    headers: HEADERS,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${response.ok ? '' : await response.text()}`);
  return (await response.json()) as T;
}

/** The public key of the log. */
export async function logKey(service: Service): Promise<string> {
  const response = await fetch(`${service.url}/api/v1/log/t/${TENANT}/key`, { headers: HEADERS });
  assert.equal(response.status, 200);
  return (await response.text()).trim();
}

export async function send(service: Service, from: number, end: number, note = ''): Promise<void> {
  for (let at = from; at < end; at += BATCH) {
    const events = Array.from({ length: Math.min(BATCH, end - at) }, (_, i) => eventAt(at + i, note));
    await asked(service, 'POST', '/audit-events/batch', { events });
  }
}

function eventAt(n: number, note: string): object {
  return {
    timestamp: new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString(),
    actor: { actorType: 'User', userId: `u-${n % 97}` },
    action: n % 3 === 0 ? 'Update.Invoice' : 'Delete.Invoice',
    resource: { resourceType: 'Invoice', resourceId: `I-${n}` },
    payload: { number: n, parity: n % 2 === 0 ? 'even' : 'odd', note: `n${'x'.repeat(n % 500)}${note}` },
  };
}

export async function requested(service: Service, wanted: ExportRequest): Promise<string> {
  return (await asked<ExportReceipt>(service, 'POST', '/exports', wanted)).exportId;
}

export async function shown(service: Service, exportId: string): Promise<Export> {
  return asked<Export>(service, 'GET', `/exports/${exportId}`);
}

export async function completed(service: Service, exportId: string): Promise<Export> {
  for (;;) {
    const seen = await shown(service, exportId);
    assert.notEqual(seen.status, 'Failed', JSON.stringify(seen));
    if (seen.status === 'Completed') return seen;
    await pause(50);
  }
}

export async function download(service: Service, exportId: string): Promise<Response> {
  const response = await fetch(`${service.url}/api/v1/exports/${exportId}/download`, { headers: HEADERS });
  assert.equal(response.status, 200);
  return response;
}

/** Of the file as it is downloaded. */
export async function digestOf(service: Service, { exportId, checksum, fileSize }: Export): Promise<string> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of (await download(service, exportId)).body!) {
    hash.update(chunk as Uint8Array);
    bytes += (chunk as Uint8Array).length;
  }
  const digest = hash.digest('hex');
  assert.deepEqual([`sha256:${digest}`, bytes], [checksum, fileSize]);
  return digest;
}

/** Once it has come some way, and not to its end; false: it was complete before. */
export async function killMeanwhile(
  service: Service,
  exportId: string,
  fromPercent: number,
): Promise<boolean> {
  for (;;) {
    const { status, progress } = await shown(service, exportId);
    if (status === 'Completed') return false;
    if (status === 'Processing' && progress.percent >= fromPercent) break;
    await pause(10);
  }
  await pause(Math.random() * 100);
  await kill(service);
  return true;
}

export async function kill(service: Service): Promise<void> {
  service.kill('SIGKILL');
  await service.ended;
}
