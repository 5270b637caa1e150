// A redaction that was stopped behind its notice goes on by itself.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { CLASSIFICATIONS } from '@tallystick/contract';
import { decodeEntry, tagOf, toBase64 } from '@tallystick/evidence';
import { systemClock } from '../runtime/clock.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { nextId, STREAMS } from '../storage/conformance/claims.ts';
import { openSqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
import { adminCaller, PLATFORM_KEY, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask } from '../testing/ask.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { filesWith } from '../testing/redacting.ts';
import { startTestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';
import { redactionJob } from './finish-redactions.ts';
import { redactionNotice } from './redact.ts';

const IBAN = 'DE02120300000000202051';

test('a service that finds a notice without its effect deletes what the notice names', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-redaction-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const directory = join(folder, 'data');
  const settings = { ...WITH_PLATFORM_KEY, Storage__DataDirectory: directory };
  let eventId = '';
  {
    await using app = await startTestApp(settings);
    const body = { ...EVENT, payload: { iban: IBAN } };
    const sent = await ask<{ eventId: string }>(app, 'POST', '/api/v1/audit-events', {
      key: PLATFORM_KEY,
      tenant: 'acme',
      body,
    });
    ({ eventId } = sent.body);
  }
  {
    await using storage = await openSqliteStorage({
      directory,
      logOrigin: undefined,
      streams: STREAMS,
      clock: systemClock,
      random: createSystemRandom(),
      threads: false,
      exclusive: false,
      onFatal: (error) => assert.fail(error),
    });
    const stored = await storage.log.forTenant('acme').event(eventId, CLASSIFICATIONS);
    const { index: leafIndex } = decodeEntry(stored!.entry);
    const tags = [toBase64(tagOf('/payload/iban').bytes)];
    const parts = { nextId, uuid: () => createSystemRandom().uuid(), clock: systemClock };
    const draft = redactionNotice({ leafIndex, eventId, tags, cause: 'Redaction' }, '', parts);
    const jobs = [{ ...redactionJob(nextId(), [draft.eventId]), dueInMs: 0 }];
    const now = { nowMs: systemClock.now(), steadyNowMs: systemClock.now() };
    const [result] = await storage.log.append([{ tenant: 'acme', drafts: [draft], jobs, atomic: true }], now);
    assert.equal(result?.status, 'Done');
  }
  assert.ok(filesWith(directory, IBAN).length > 0, 'it was stopped behind the notice');
  await using app = await startTestApp(settings);
  const caller = adminCaller(app, 'acme');
  const { text } = await caller.get(`/api/v1/audit-events/${eventId}`);
  assert.ok(!text.includes(IBAN), 'nobody sees it');
  await until(async () => filesWith(directory, IBAN).length === 0);
  assert.equal((await caller.get(`/api/v1/audit-events/${eventId}/proof`)).status, 200);
});
