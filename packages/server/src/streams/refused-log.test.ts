import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { AuditError } from '@tallystick/contract';
import { openAnchorFile } from '../storage/anchor-file.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../testing/event-caller.ts';
import { startTestApp } from '../testing/test-app.ts';
import { COMPARING, refusedLog } from './refused-log.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-refused-'));
after(() => rmSync(folder, { recursive: true }));

test('what passes by itself is worth asking again at once, and what somebody must mend after a minute', () => {
  assert.equal(refusedLog('acme', COMPARING).retryAfterSeconds, undefined);
  const lasting = refusedLog('acme', 'it has less than was signed.');
  assert.deepEqual([lasting.code, lasting.retryAfterSeconds], ['SERVICE_UNAVAILABLE', 60]);
  assert.equal(lasting.message, 'The log of acme is refused: it has less than was signed.');
  for (const seconds of [0, -1, 1.5, Number.NaN])
    assert.throws(() => new AuditError('SERVICE_UNAVAILABLE', 'later', { retryAfterSeconds: seconds }));
});

test('a stream of a log that is behind its anchor is not sealed: 503, to be asked again in a minute', async () => {
  const settings = { Storage__DataDirectory: join(folder, 'data'), Log__Origin: 'audit.example.com' };
  const serve = () => startTestApp(settings, { authenticate: believeClearance });
  {
    await using app = await serve();
    assert.equal((await eventCaller(app).ingest(EVENT)).code, '201');
  }
  {
    await using anchor = await openAnchorFile(settings.Storage__DataDirectory);
    await anchor.append([{ origin: 'audit.example.com/t/acme', size: 9, root: new Uint8Array(32) }]);
  }
  await using app = await serve();
  const headers = { 'X-API-Key': 'Secret', 'X-Tenant-Id': 'acme' };
  const streams = `${app.url}/api/v1/event-streams`;
  const { data } = (await (await fetch(streams, { headers })).json()) as { data: { streamId: string }[] };
  const answer = await fetch(`${streams}/${data[0]!.streamId}/seal`, { method: 'POST', headers });
  assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '60']);
});
