import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { AuditError, type Classification } from '@tallystick/contract';
import { openOwnAnchor } from '../../storage/anchor/file-anchor.ts';
import { EVENT } from '../../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../../testing/event-caller.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { COMPARING, refusedLog } from './refused-log.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-refused-'));
after(() => rmSync(folder, { recursive: true }));

test('a refusal that passes by itself suggests an immediate retry, one that needs an operator a retry after a minute', () => {
  assert.equal(refusedLog('acme', COMPARING).retryAfterSeconds, undefined);
  const lasting = refusedLog('acme', 'it has less than was signed.');
  assert.deepEqual([lasting.code, lasting.retryAfterSeconds], ['SERVICE_UNAVAILABLE', 60]);
  assert.equal(lasting.message, 'The log of acme is refused: it has less than was signed.');
  for (const seconds of [0, -1, 1.5, Number.NaN])
    assert.throws(() => new AuditError('SERVICE_UNAVAILABLE', 'later', { retryAfterSeconds: seconds }));
});

/** A service whose log of acme has these events and is behind its anchor. */
async function startRefused(name: string, events: readonly object[]): Promise<TestApp> {
  const settings = { Storage__DataDirectory: join(folder, name), Log__Origin: 'audit.example.com' };
  const serve = () => startTestApp(settings, { authenticate: believeClearance });
  {
    await using app = await serve();
    for (const event of events) assert.equal((await eventCaller(app).ingest(event)).code, '201');
  }
  {
    await using anchor = await openOwnAnchor(settings.Storage__DataDirectory);
    await anchor.append([{ origin: 'audit.example.com/t/acme', size: 9, root: new Uint8Array(32) }]);
  }
  return serve();
}

const headersOf = (clearance: Classification) => ({ 'X-API-Key': clearance, 'X-Tenant-Id': 'acme' });

async function addressOfStream(app: TestApp): Promise<string> {
  const streams = `${app.url}/api/v1/event-streams`;
  const answer = await fetch(streams, { headers: headersOf('Secret') });
  const { data } = (await answer.json()) as { data: { streamId: string }[] };
  return `${streams}/${data[0]!.streamId}`;
}

test('a stream of a log that is behind its anchor is not sealed: 503, to be asked again in a minute', async () => {
  await using app = await startRefused('seal', [EVENT]);
  const sealing = { method: 'POST', headers: headersOf('Secret') };
  const answer = await fetch(`${await addressOfStream(app)}/seal`, sealing);
  assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '60']);
});

test('events of a refused log can be read, but not secret ones: the read could not be recorded', async () => {
  const [plain, secret] = ['01KE0000000000000000000042', '01KE0000000000000000000043'];
  await using app = await startRefused('read', [
    { ...EVENT, eventId: plain },
    { ...EVENT, eventId: secret, classification: 'Secret' },
  ]);
  const reader = eventCaller(app);
  assert.equal((await reader.get(plain)).code, '200');
  assert.equal((await reader.get(secret)).code, '503 SERVICE_UNAVAILABLE');
  const pageFor = async (clearance: Classification) =>
    (await fetch(`${await addressOfStream(app)}/events`, { headers: headersOf(clearance) })).status;
  assert.deepEqual([await pageFor('Secret'), await pageFor('Internal')], [503, 200]);
});
