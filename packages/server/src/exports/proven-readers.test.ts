// Exports with proofs by readers from whom something is withheld, on both backends: what they do not see stays closed in the bundle, too,
// and all that they see is proven.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { AuditEvent, Export, ExportReceipt } from '@tallystick/contract';
import { type ExportVerdict, noteVerifier, verifyExport } from '@tallystick/evidence';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { type PolicedTenant, policedTenant } from '../testing/policed-tenant.ts';
import { type Databases, openDatabases } from '../testing/postgres-server.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';
import { unzipped } from '../testing/unzipped.ts';

const SECRET = 'canary-of-a-withheld-value';
const OF_CONFIDENTIAL = 'canary-of-a-confidential-event';
const WHOLE = { filters: { kinds: ['Event', 'Notice'] } };

async function exported(
  policed: PolicedTenant,
  tenant: string,
  key: string,
  request: object,
): Promise<{ readonly verdict: ExportVerdict; readonly texts: Map<string, string> }> {
  const wanted = { includeProofs: true, compression: 'Zip', ...request };
  const { exportId } = await policed.ask<ExportReceipt>('POST', '/exports', wanted, key);
  let seen: Export | undefined;
  await until(async () => {
    seen = await policed.ask<Export>('GET', `/exports/${exportId}`, undefined, key);
    return seen.status === 'Completed' || seen.status === 'Failed';
  });
  assert.equal(seen!.status, 'Completed', JSON.stringify(seen));
  const texts = unzipped(Buffer.from(await (await fetch(seen!.downloadUrl!)).arrayBuffer()));
  const { origin } = JSON.parse(texts.get('manifest.json')!) as { origin: string };
  const verifier = await noteVerifier(keysOf.get(tenant)!);
  assert.equal(origin, verifier.name);
  const archive = {
    names: [...texts.keys()],
    // In small pieces, so that rows and lines end within them and between them.
    async *entry(name: string) {
      const bytes = Buffer.from(texts.get(name)!);
      for (let at = 0; at < bytes.length; at += 777) yield bytes.subarray(at, at + 777);
    },
  };
  return { verdict: await verifyExport(archive, { verifiers: [verifier] }), texts };
}

const keysOf = new Map<string, string>();

async function prepared(app: TestApp, tenant: string) {
  const policed = policedTenant(app, tenant);
  const ids = await policed.send(
    { payload: { note: 'seen by all' }, classification: 'Public' },
    {
      payload: { note: OF_CONFIDENTIAL },
      context: { place: OF_CONFIDENTIAL },
      classification: 'Confidential',
    },
    { payload: { note: OF_CONFIDENTIAL }, classification: 'Secret' },
    { payload: { iban: SECRET, nested: { iban: SECRET, kept: 1 }, note: 'in part' }, context: { a: 'b' } },
    { payload: { note: 'gone', iban: 'X' }, actor: { actorType: 'User', userId: 'u', userName: 'Ana' } },
  );
  const answer = await fetch(`${app.url}/api/v1/log/t/${tenant}/key`, {
    headers: { 'X-API-Key': PLATFORM_KEY, 'X-Tenant-Id': tenant },
  });
  keysOf.set(tenant, (await answer.text()).trim());
  return { policed, ids };
}

function claims(appOf: () => TestApp): void {
  it('of a reader with a low clearance is proven, and a complete bundle of it has every entry', async () => {
    const { policed } = await prepared(appOf(), 'low');
    const low = { roles: ['Auditor'], clearance: 'Internal' };
    const key = await policed.keyWith(low);
    for (const format of ['JSON', 'CSV', 'XML']) {
      const { verdict, texts } = await exported(policed, 'low', key, { criteria: WHOLE, format });
      assert.equal(verdict.complete, true);
      assert.equal(verdict.rows, verdict.entries - 1, 'the secret event has no row');
      assert.deepEqual(verdict.manifest.counts.withheld, { Clearance: 1, Purged: 0 });
      // The last but one is of no special class, so that this reader may see it.
      for (const [name, text] of texts)
        assert.ok(!text.includes(OF_CONFIDENTIAL), `${name} has the content of a Confidential event`);
    }
    const part = await exported(policed, 'low', key, { criteria: { query: 'seen' } });
    assert.deepEqual([part.verdict.rows, part.verdict.complete], [1, false]);
  });

  it('of a reader from whom single fields are withheld is proven but for these', async () => {
    const { policed } = await prepared(appOf(), 'fields');
    await policed.put('Access', [
      {
        effect: {
          access: 'Allow',
          roles: ['Auditor'],
          redactFields: ['payload.iban', 'payload.nested.iban', 'actor.userName'],
        },
      },
    ]);
    const key = await policed.keyWith({ roles: ['Auditor'], clearance: 'Confidential' });
    for (const format of ['NDJSON', 'CSV', 'XML']) {
      const { verdict, texts } = await exported(policed, 'fields', key, { format });
      assert.equal(verdict.rows, verdict.entries);
      assert.equal(verdict.rowsInPart, 1, 'of nested, the rest is shown');
      for (const [name, text] of texts) assert.ok(!text.includes(SECRET), `${name} has a withheld field`);
    }
  });

  it('of a reader from whom a whole payload is withheld is proven but for the context beside it', async () => {
    const { policed } = await prepared(appOf(), 'payload');
    await policed.put('Access', [
      { effect: { access: 'Allow', roles: ['Auditor'], redactFields: ['payload'] } },
    ]);
    const key = await policed.keyWith({ roles: ['Auditor'], clearance: 'Secret' });
    const { verdict, texts } = await exported(policed, 'payload', key, {});
    assert.equal(verdict.rows, 5);
    assert.ok(!texts.get('evidence.jsonl')!.includes('"/payload/'));
  });

  it('names what was deleted for good, with its notice, where nothing is left out', async () => {
    const { policed, ids } = await prepared(appOf(), 'redacted');
    const request = { fields: ['payload.iban', 'actor.userName'], reason: 'asked for' };
    await policed.ask('POST', `/audit-events/${ids[4]}/redact`, request);
    const key = await policed.keyWith({ roles: ['Auditor'], clearance: 'Secret' });
    const { verdict, texts } = await exported(policed, 'redacted', key, { criteria: WHOLE });
    assert.deepEqual([verdict.deleted, verdict.withheld, verdict.explainedBy.length], [1, 0, 1]);
    const events = JSON.parse(texts.get('events.json')!) as AuditEvent[];
    assert.equal(events.length, verdict.rows);
    for (const format of ['CSV', 'XML'])
      assert.equal((await exported(policed, 'redacted', key, { format })).verdict.rows, 5);
  });
}

describe('an export with proofs, over SQLite', () => {
  let app: TestApp;
  before(async () => {
    // In its thread, as a service has it.
    app = await startTestApp(
      { ...WITH_PLATFORM_KEY, Environment: 'Test', Log__CheckpointInterval: 'PT0.05S' },
      { hasThreads: true },
    );
  });
  after(() => app[Symbol.asyncDispose]());
  claims(() => app);
});

describe('an export with proofs, over PostgreSQL', () => {
  let server: Databases;
  let folder: string;
  let app: TestApp;
  before(async () => {
    server = await openDatabases();
    folder = mkdtempSync(join(tmpdir(), 'tallystick-proven-'));
    app = await startTestApp(
      {
        ...WITH_PLATFORM_KEY,
        Environment: 'Test',
        Log__CheckpointInterval: 'PT0.05S',
        Storage__Url: await server.createDatabase(),
        Storage__DataDirectory: join(folder, 'data'),
      },
      { hasThreads: true },
    );
  });
  after(async () => {
    await app?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });
  claims(() => app);
});
