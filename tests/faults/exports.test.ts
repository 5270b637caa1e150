// P11: the file of an export is the snapshot, and the same bytes as that of an export that nobody has cut, wherever the service was killed
// meanwhile, and whatever was sent meanwhile.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Export, ExportReceipt, ExportRequest } from '@tallystick/contract';
import { BACKENDS, type Backend } from './backends.ts';
import { KEY, type Service, startService } from './running.ts';
import { SIZE } from './size.ts';

const EVENTS = SIZE.isLong ? 1_000_000 : 10_000;
const KILLS = SIZE.isLong ? 20 : 2;
const BATCH = 500;
const TENANT = 'exported';
const HEADERS = { 'X-API-Key': KEY, 'X-Tenant-Id': TENANT, 'Content-Type': 'application/json' };

const WANTED: readonly ExportRequest[] = [
  { format: 'JSON', compression: 'Zip' },
  ...(SIZE.isLong
    ? [
        { format: 'CSV', compression: 'Gzip' } as const,
        { format: 'XML', criteria: { query: 'odd' } } as const,
      ]
    : []),
  // Through the index.
  { format: 'NDJSON', criteria: { query: 'odd' } },
];

async function asked<T>(service: Service, method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`${service.url}/api/v1${path}`, {
    method,
    headers: HEADERS,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${response.ok ? '' : await response.text()}`);
  return (await response.json()) as T;
}

async function send(service: Service, from: number, end: number): Promise<void> {
  for (let at = from; at < end; at += BATCH) {
    const events = Array.from({ length: Math.min(BATCH, end - at) }, (_, i) => ({
      timestamp: new Date(Date.UTC(2026, 0, 1) + (at + i) * 1000).toISOString(),
      actor: { actorType: 'User', userId: `u-${(at + i) % 97}` },
      action: (at + i) % 3 === 0 ? 'Update.Invoice' : 'Delete.Invoice',
      resource: { resourceType: 'Invoice', resourceId: `I-${at + i}` },
      payload: {
        number: at + i,
        parity: (at + i) % 2 === 0 ? 'even' : 'odd',
        note: `n${'x'.repeat((at + i) % 500)}`,
      },
    }));
    await asked(service, 'POST', '/audit-events/batch', { events });
  }
}

async function requested(service: Service, wanted: ExportRequest): Promise<string> {
  return (await asked<ExportReceipt>(service, 'POST', '/exports', wanted)).exportId;
}

async function completed(service: Service, exportId: string): Promise<Export> {
  for (;;) {
    const seen = await asked<Export>(service, 'GET', `/exports/${exportId}`);
    assert.notEqual(seen.status, 'Failed', JSON.stringify(seen));
    if (seen.status === 'Completed') return seen;
    await pause(50);
  }
}

/** Of the file as it is downloaded. */
async function digestOf(service: Service, { exportId, checksum, fileSize }: Export): Promise<string> {
  const response = await fetch(`${service.url}/api/v1/exports/${exportId}/download`, { headers: HEADERS });
  assert.equal(response.status, 200);
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of response.body!) {
    hash.update(chunk as Uint8Array);
    bytes += (chunk as Uint8Array).length;
  }
  const digest = hash.digest('hex');
  assert.deepEqual([`sha256:${digest}`, bytes], [checksum, fileSize]);
  return digest;
}

/** Once it has come some way, and not to its end. */
async function killMeanwhile(service: Service, exportId: string, fromPercent: number): Promise<boolean> {
  for (;;) {
    const { status, progress } = await asked<Export>(service, 'GET', `/exports/${exportId}`);
    if (status === 'Completed') return false;
    if (status === 'Processing' && progress.percent >= fromPercent) break;
    await pause(10);
  }
  await pause(Math.random() * 100);
  service.kill('SIGKILL');
  await service.ended;
  return true;
}

async function cutExport(
  backend: Backend,
  first: Service,
  wanted: ExportRequest,
): Promise<{ readonly service: Service; readonly made: Export; readonly kills: number }> {
  let service = first;
  const exportId = await requested(service, wanted);
  let kills = 0;
  for (let i = 0; i < KILLS; i++) {
    if (!(await killMeanwhile(service, exportId, (100 * i) / (KILLS + 1)))) break;
    kills++;
    await backend.endLeases?.();
    service = await startService(backend.start);
    // What comes now does not belong to it.
    await send(service, EVENTS, EVENTS + BATCH);
  }
  return { service, made: await completed(service, exportId), kills };
}

for (const [name, open] of Object.entries(BACKENDS) as [string, () => Promise<Backend>][])
  test(`on ${name} an export that was killed again and again is the same file`, async (t) => {
    await using backend = await open();
    let service = await startService(backend.start);
    try {
      await send(service, 0, EVENTS);
      for (const wanted of WANTED) {
        const whole = await completed(service, await requested(service, wanted));
        const expected = await digestOf(service, whole);
        const cut = await cutExport(backend, service, { ...wanted, criteria: { ...wanted.criteria } });
        service = cut.service;
        t.diagnostic(
          `${JSON.stringify(wanted)}: ${whole.eventCount} events, ${whole.fileSize} bytes, ${cut.kills} kills`,
        );
        assert.equal(cut.made.eventCount, whole.eventCount);
        assert.equal(await digestOf(service, cut.made), expected);
      }
      const left = readdirSync(join(backend.start.dataDirectory, 'exports'));
      assert.deepEqual(
        left.filter((file) => !file.endsWith('.export')),
        [],
      );
    } finally {
      service.kill('SIGKILL');
      await service.ended;
    }
  });
