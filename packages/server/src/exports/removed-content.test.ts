// What is removed for good is in no file of an export any more: neither in those that are complete, nor in one that is being made.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AuditEvent, Erasure, Export, ExportReceipt } from '@tallystick/contract';
import { WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { policedTenant } from '../testing/policed-tenant.ts';
import { startTestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

test('a redaction and an erasure remove the files that may hold what is gone; others are made without it', async () => {
  await using app = await startTestApp(WITH_PLATFORM_KEY);
  const tenant = policedTenant(app, 'removed');
  const other = policedTenant(app, 'other');
  const made = async (of: typeof tenant): Promise<Export> => {
    const { exportId } = await of.ask<ExportReceipt>('POST', '/exports', { format: 'NDJSON' });
    let seen: Export | undefined;
    await until(async () => {
      seen = await of.ask<Export>('GET', `/exports/${exportId}`);
      return seen.status === 'Completed';
    });
    return seen!;
  };
  const files = () => readdirSync(join(app.dataDirectory, 'exports'));
  const actor = { actorType: 'User', userId: 'ana' };
  const [eventId] = await tenant.send({ actor, payload: { iban: 'DE-CANARY', amount: 1 } });
  await other.send({});
  const [first, kept] = [await made(tenant), await made(other)];
  assert.match(await (await fetch(first.downloadUrl!)).text(), /DE-CANARY/);

  await tenant.ask('POST', `/audit-events/${eventId}/redact`, {
    fields: ['payload.iban'],
    reason: 'asked for',
  });
  assert.deepEqual(
    files().map((name) => name.split('.')[0]),
    [kept.exportId],
  );
  const refused = await fetch(first.downloadUrl!);
  assert.equal(refused.status, 409);
  assert.match(await refused.text(), /EXPORT_NOT_READY/);
  const shown = await tenant.ask<Export>('GET', `/exports/${first.exportId}`);
  assert.deepEqual(
    [shown.status, shown.downloadUrl, shown.checksum],
    ['Completed', undefined, first.checksum],
  );

  const second = await made(tenant);
  const text = await (await fetch(second.downloadUrl!)).text();
  assert.doesNotMatch(text, /DE-CANARY/);
  assert.equal((JSON.parse(text) as AuditEvent).redaction?.reason, 'RedactedAtRest');

  const erasure = await tenant.ask<Erasure>('POST', '/erasures', {
    subject: { userId: 'ana' },
    reason: 'law',
  });
  await until(async () => {
    const { status } = await tenant.ask<Erasure>('GET', `/erasures/${erasure.erasureId}`);
    return status === 'Completed';
  });
  assert.equal((await fetch(second.downloadUrl!)).status, 409);
  assert.equal((await fetch(kept.downloadUrl!)).status, 200);
});
