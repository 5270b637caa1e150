// Keys and tokens that the command line makes and takes away while the service runs on the same data directory.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { run, type Running, serve } from '../testing/command.ts';

type Service = Running & { readonly port: number };

const EVENT = {
  timestamp: '2026-01-02T03:04:05Z',
  actor: { actorType: 'User', userId: 'u-1' },
  action: 'Delete.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
};

async function send({ port }: Service, headers: Record<string, string>): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/audit-events`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(EVENT),
  });
  const { error } = (await response.json()) as { error?: { code: string } };
  return `${response.status} ${error?.code ?? ''}`.trim();
}

const settingsOf = ({ folder }: Running) => ({ Storage__DataDirectory: join(folder, 'data') });

async function command(service: Running, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(args, { env: settingsOf(service) });
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

const keyIdIn = (key: string) => key.split('_')[1]!;

describe('while the service runs', { concurrency: 2 }, () => {
  it('a new key works at once, a rotated one for its grace period, a revoked one not at all', async () => {
    await using service = await serve();
    const first = await command(service, 'keys', 'create', '--tenant', 'acme', '--role', 'Operator');
    const with1 = { 'X-API-Key': first, 'X-Tenant-Id': 'acme' };
    assert.equal(await send(service, with1), '201');
    const second = await command(service, 'keys', 'rotate', keyIdIn(first));
    const with2 = { 'X-API-Key': second, 'X-Tenant-Id': 'acme' };
    assert.deepEqual([await send(service, with1), await send(service, with2)], ['201', '201']);
    await command(service, 'keys', 'revoke', keyIdIn(second));
    const listed = await command(service, 'keys', 'list', '--tenant', 'acme');
    assert.match(
      listed,
      new RegExp(`${keyIdIn(first)} +acme +Active [^]*${keyIdIn(second)} +acme +Revoked `),
    );
    assert.deepEqual(
      [await send(service, with1), await send(service, with2)],
      ['201', '401 API_KEY_REVOKED'],
    );
    const third = await command(service, 'keys', 'create', '--tenant', 'acme', '--role', 'Operator');
    await command(service, 'keys', 'rotate', keyIdIn(third), '--grace', '0s');
    assert.equal(await send(service, { 'X-API-Key': third, 'X-Tenant-Id': 'acme' }), '401 API_KEY_REVOKED');
  });

  it('a token works at once, though its key was made after the start', async () => {
    await using service = await serve();
    const operator = await command(service, 'token', '--tenant', 'acme', '--role', 'Operator');
    const viewer = await command(service, 'token', '--tenant', 'acme', '--role', 'Viewer');
    assert.equal(await send(service, { Authorization: `Bearer ${operator}` }), '201');
    assert.equal(await send(service, { Authorization: `Bearer ${viewer}` }), '403 INSUFFICIENT_SCOPE');
  });

  it('events and notices of both go into one chain without a gap', async () => {
    await using service = await serve();
    const key = await command(service, 'keys', 'create', '--tenant', 'acme', '--role', 'Operator');
    const headers = { 'X-API-Key': key, 'X-Tenant-Id': 'acme' };
    const sent = Promise.all(Array.from({ length: 40 }, () => send(service, headers)));
    const made = Array.from({ length: 3 }, () =>
      command(service, 'keys', 'create', '--tenant', 'acme', '--role', 'Viewer'),
    );
    assert.deepEqual(new Set(await sent), new Set(['201']));
    await Promise.all(made);
    service.child.kill('SIGTERM');
    assert.equal((await service.ended).code, 0);
    const entries = entriesIn(join(service.folder, 'data/journal.db'));
    assert.deepEqual(
      entries.map(({ index }) => index),
      entries.map((_, i) => i),
    );
    const kinds = entries.map(({ kind }) => kind);
    assert.deepEqual(
      [kinds[0], kinds.filter((kind) => kind === 1).length, kinds.filter((kind) => kind === 9).length],
      [9, 40, 4],
    );
    for (const [i, { previous }] of entries.entries()) {
      if (i > 0) assert.equal(previous, entries[i - 1]!.leaf, `entry ${i} does not follow the one before`);
    }
  });

  it('the list says when a key was last used, once the service has stopped at the latest', async () => {
    await using service = await serve();
    const make = () => command(service, 'keys', 'create', '--tenant', 'acme', '--role', 'Operator');
    const [used, unused] = [await make(), await make()];
    const sentAtMs = Date.now();
    assert.equal(await send(service, { 'X-API-Key': used, 'X-Tenant-Id': 'acme' }), '201');
    service.child.kill('SIGTERM');
    assert.equal((await service.ended).code, 0);
    const json = await command(service, 'keys', 'list', '--tenant', 'acme', '--json');
    const [first, second] = JSON.parse(json) as ListedKey[];
    assert.deepEqual([first!.keyId, second!.keyId], [keyIdIn(used), keyIdIn(unused)]);
    assert.ok(Date.parse(first!.lastUsedAt!) >= sentAtMs);
    assert.ok(!('lastUsedAt' in second!));
    const table = await command(service, 'keys', 'list', '--tenant', 'acme');
    assert.match(table, new RegExp(`${keyIdIn(used)} .* ${first!.lastUsedAt} `));
  });

  it('the first start prints a key and a curl line that sends an event; the second how to make another', async () => {
    await using service = await serve();
    const [, key = ''] = await service.prints(/^ {2}key {6}(tsk_\S+)$/m);
    const [, url, shown, body] = await service.prints(
      /^ {2}curl (\S+) -H "X-API-Key: (\S+)" -H 'X-Tenant-Id: demo' -H 'Content-Type: application\/json' -d '(.*)'$/m,
    );
    assert.equal(shown, key);
    const headers = { 'X-API-Key': key, 'X-Tenant-Id': 'demo', 'Content-Type': 'application/json' };
    assert.equal((await fetch(url!, { method: 'POST', headers, body: body! })).status, 201);
    service.child.kill('SIGTERM');
    const { stderr } = await service.ended;
    assert.ok(!stderr.includes(key.slice(31)), 'the key is in the diagnostics');
    await using again = await serve({ env: settingsOf(service) });
    await again.prints(/^ {2}curl .*"X-API-Key: \$TALLYSTICK_KEY"/m);
    const [, advice = ''] = await again.prints(/^ {2}key .*: tallystick (keys create .*)$/m);
    const another = await command(service, ...advice.replaceAll("'", '').split(' '));
    assert.equal(await send(again, { 'X-API-Key': another, 'X-Tenant-Id': 'demo' }), '201');
    assert.equal(await send(again, { 'X-API-Key': key, 'X-Tenant-Id': 'demo' }), '201');
    again.child.kill('SIGTERM');
    assert.doesNotMatch((await again.ended).stdout, /tsk_/);
  });

  it('TALLYSTICK_ADMIN_KEY takes the place of the first key, and its new value that of the old', async () => {
    const [first, second] = ['correct-horse-battery-1', 'correct-horse-battery-2'];
    await using service = await serve({ env: { TALLYSTICK_ADMIN_KEY: first } });
    const headers = { 'X-Tenant-Id': 'demo' };
    assert.equal(await send(service, { ...headers, 'X-API-Key': first }), '201');
    service.child.kill('SIGTERM');
    const { stdout, stderr } = await service.ended;
    assert.doesNotMatch(stdout + stderr, /tsk_|correct-horse|keys create/);
    await using again = await serve({ env: { ...settingsOf(service), TALLYSTICK_ADMIN_KEY: second } });
    assert.equal(await send(again, { ...headers, 'X-API-Key': second }), '201');
    assert.equal(await send(again, { ...headers, 'X-API-Key': first }), '401 API_KEY_REVOKED');
  });
});

interface ListedKey {
  readonly keyId: string;
  readonly lastUsedAt?: string;
}

interface FoundEntry {
  readonly kind: number;
  readonly index: number;
  readonly previous: string;
  readonly leaf: string;
}

function entriesIn(file: string): FoundEntry[] {
  using db = new DatabaseSync(file, { readOnly: true });
  return db
    .prepare(
      "SELECT entry, leaf FROM entries JOIN tenants USING (tenant) WHERE tenant_id = 'acme' ORDER BY leaf_index",
    )
    .all()
    .map((row) => {
      const entry = Buffer.from(row['entry'] as Uint8Array);
      return {
        kind: entry[16]!,
        index: Number(entry.readBigUInt64BE(20)),
        previous: entry.toString('hex', 52, 84),
        leaf: Buffer.from(row['leaf'] as Uint8Array).toString('hex'),
      };
    });
}
