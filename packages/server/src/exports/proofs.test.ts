// Exports with proofs: what stands beside the data, and that it proves the data.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { AuditEvent, Export, ExportReceipt } from '@tallystick/contract';
import { canonicalJson, noteVerifier, openNote, parseJson, verifyBundle } from '@tallystick/evidence';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask as askOf } from '../testing/ask.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';
import { unzipped } from '../testing/unzipped.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp({ ...WITH_PLATFORM_KEY, Environment: 'Test' });
});
after(() => app[Symbol.asyncDispose]());

const ask = <T>(tenant: string, method: string, path: string, body?: unknown) =>
  askOf<T>(app, method, `/api/v1${path}`, { key: PLATFORM_KEY, tenant, body });

async function ingest(tenant: string, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, i) => ({
    timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, i)).toISOString(),
    actor: { actorType: 'User', userId: `u-${i % 3}` },
    action: i % 2 === 0 ? 'Update.Invoice' : 'Delete.Invoice',
    resource: { resourceType: 'Invoice', resourceId: `I-${i}` },
    payload: { number: i, note: `=SUM(A1) "quoted", ${i}` },
  }));
  assert.equal((await ask(tenant, 'POST', '/audit-events/batch', { events })).code, '201');
}

interface Manifest {
  readonly entries: readonly { readonly name: string; readonly size: number; readonly sha256: string }[];
  readonly counts: { readonly exported: number; readonly proven: number; readonly withheld?: object };
  readonly range: { readonly complete: boolean };
  readonly signatures: readonly string[];
}

async function exported(tenant: string, request: object) {
  const wanted = { includeProofs: true, compression: 'Zip', ...request };
  const { code, body } = await ask<ExportReceipt>(tenant, 'POST', '/exports', wanted);
  assert.equal(code, '202');
  let seen: Export | undefined;
  await until(async () => {
    seen = (await ask<Export>(tenant, 'GET', `/exports/${body.exportId}`)).body;
    return seen.status === 'Completed' || seen.status === 'Failed';
  });
  assert.equal(seen!.status, 'Completed', JSON.stringify(seen));
  const texts = unzipped(Buffer.from(await (await fetch(seen!.downloadUrl!)).arrayBuffer()));
  const key = (await ask(tenant, 'GET', `/log/t/${tenant}/key`)).text.trim();
  const verifiers = [await noteVerifier(key)];
  const bundle = await verifyBundle([Buffer.from(texts.get('evidence.jsonl')!)], { verifiers });
  const manifest = parseJson(texts.get('manifest.json')!) as Manifest;
  const { signatures, ...signed } = manifest;
  await openNote(`${canonicalJson(signed)}\n\n${signatures.join('\n')}\n`, verifiers);
  for (const { name, size, sha256 } of manifest.entries) {
    const bytes = Buffer.from(texts.get(name)!);
    assert.deepEqual([bytes.length, createHash('sha256').update(bytes).digest('hex')], [size, sha256], name);
  }
  return { texts, bundle, manifest, seen: seen! };
}

test('an export of everything, notices and all, has a complete bundle', async () => {
  await ingest('whole', 25);
  const criteria = { filters: { kinds: ['Event', 'Notice'] } };
  const { texts, bundle, manifest, seen } = await exported('whole', { criteria });
  assert.deepEqual([...texts.keys()], ['events.json', 'evidence.jsonl', 'verify.html', 'manifest.json']);
  const events = JSON.parse(texts.get('events.json')!) as AuditEvent[];
  assert.equal(seen.eventCount, events.length);
  assert.deepEqual([bundle.complete, bundle.entries, bundle.open], [true, events.length, events.length]);
  assert.deepEqual(manifest.counts, {
    exported: events.length,
    proven: events.length,
    withheld: { Clearance: 0, Purged: 0 },
  });
});

test('an export of events alone has a bundle of exactly these, and does not call it complete', async () => {
  await ingest('events', 12);
  const { bundle, manifest, texts } = await exported('events', { format: 'CSV' });
  assert.deepEqual([bundle.complete, bundle.entries, manifest.range.complete], [false, 12, false]);
  assert.equal(texts.get('events.csv')!.trimEnd().split('\r\n').length, 13);
});

test('an export with criteria names them, and proves what it has, in the order of the log', async () => {
  await ingest('criteria', 30);
  const criteria = {
    filters: { actions: ['Delete.Invoice'] },
    sort: [{ field: 'timestamp', order: 'desc' }],
  };
  const { bundle, texts, manifest } = await exported('criteria', { criteria, format: 'NDJSON' });
  assert.deepEqual([bundle.entries, bundle.filter, bundle.complete], [15, criteria, false]);
  assert.equal(manifest.counts.withheld, undefined);
  const first = JSON.parse(texts.get('events.ndjson')!.split('\n')[0]!) as AuditEvent;
  assert.equal(first.payload?.['number'], 29);
});

test('an export of nothing is proven, too', async () => {
  const { bundle, manifest } = await exported('nothing', {});
  assert.deepEqual([bundle.entries, manifest.counts.exported], [0, 0]);
});

test('an export with criteria is in the order of the log, whatever times the events say', async () => {
  const hours = [9, 3, 7, 3, 1];
  const events = hours.map((hour, i) => ({
    timestamp: `2026-01-01T0${hour}:00:00Z`,
    actor: { actorType: 'User', userId: 'u' },
    action: 'Update.Invoice',
    resource: { resourceType: 'Invoice', resourceId: `I-${i}` },
  }));
  await ask('unordered', 'POST', '/audit-events/batch', { events });
  const criteria = { query: 'invoice' };
  const { texts, bundle } = await exported('unordered', { criteria, format: 'NDJSON' });
  assert.equal(bundle.entries, hours.length);
  const rows = texts.get('events.ndjson')!.trimEnd().split('\n');
  const ids = rows.map((row) => (JSON.parse(row) as AuditEvent).resource.resourceId);
  assert.deepEqual(ids, ['I-0', 'I-1', 'I-2', 'I-3', 'I-4']);
});
