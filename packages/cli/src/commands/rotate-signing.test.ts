// The signing key changes while the service runs on the same data directory.

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { noteVerifier, parseEventProof, verifyEventProof } from '@tallystick/evidence';
import { callTool } from '../../../server/src/testing/mcp-caller.ts';
import { run, type Running, serve } from '../testing/command.ts';
import { placeWithData } from '../testing/place.ts';

const KEY = 'correct-horse-battery-1';
const EVENT = {
  timestamp: '2026-01-02T03:04:05Z',
  actor: { actorType: 'User', userId: 'u-1' },
  action: 'Delete.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
};

type Service = Running & { readonly port: number };

async function ask({ port }: Service, path: string, body?: unknown): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'X-API-Key': KEY, 'X-Tenant-Id': 'acme', 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.ok(response.ok, `${response.status} ${text}`);
  return text;
}

const keysOf = async (service: Service) => (await ask(service, '/log/t/acme/key')).trim().split('\n');

async function proofTextOfNew(service: Service): Promise<string> {
  const { eventId } = JSON.parse(await ask(service, '/audit-events', EVENT)) as { eventId: string };
  return ask(service, `/audit-events/${eventId}/proof`);
}

const proofOfNew = async (service: Service) => parseEventProof(await proofTextOfNew(service));

async function isBy(key: string, proof: Awaited<ReturnType<typeof proofOfNew>>): Promise<boolean> {
  const verifiers = [await noteVerifier(key)];
  return verifyEventProof(proof, { verifiers }).then(
    () => true,
    () => false,
  );
}

/** However slow the machine is. */
const PATIENCE_MS = 120_000;

async function until<T>(found: () => Promise<T | undefined>, forMs = PATIENCE_MS): Promise<T> {
  for (const deadline = Date.now() + forMs; ; ) {
    const value = await found();
    if (value !== undefined) return value;
    assert.ok(Date.now() < deadline, 'it does not come');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('tallystick keys rotate-signing', { concurrency: 2 }, () => {
  it('makes a key that the running service signs with beside the old one, and then alone', async () => {
    const settings = { TALLYSTICK_ADMIN_KEY: KEY, Log__CheckpointInterval: 'PT0.05S' };
    await using service = await serve({ env: settings });
    const env = { Storage__DataDirectory: join(service.folder, 'data') };
    const before = await proofOfNew(service);
    const [old] = await keysOf(service);
    // While it lasts two commands are run: on a slow machine it has to last longer.
    const startedMs = Date.now();
    assert.equal((await run(['keys', 'list'], { env })).code, 0);
    const overlapSeconds = Math.max(8, Math.ceil((6 * (Date.now() - startedMs)) / 1000));
    const overlap = ['--overlap', `${overlapSeconds}s`];
    const { code, stdout, stderr } = await run(['keys', 'rotate-signing', ...overlap], { env });
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^the new signing key is [0-9a-f]{64}\n.*signs beside it until .*Z\n2 logs ha/);
    const both = await until(async () => {
      const keys = await keysOf(service);
      return keys.length === 2 ? keys : undefined;
    });
    assert.equal(both[1], old);
    const during = await proofOfNew(service);
    assert.deepEqual(
      [await isBy(old!, before), await isBy(old!, during), await isBy(both[0]!, during)],
      [true, true, true],
    );
    const again = await run(['keys', 'rotate-signing'], { env });
    assert.equal(again.code, 1);
    assert.match(again.stderr, /the one before signs until .*; change it again after that/);
    const [alone] = await until(
      async () => {
        const keys = await keysOf(service);
        return keys.length === 1 ? keys : undefined;
      },
      PATIENCE_MS + overlapSeconds * 1000,
    );
    assert.equal(alone, both[0]);
    const after = await proofOfNew(service);
    assert.deepEqual([await isBy(old!, after), await isBy(alone!, after)], [false, true]);
    // The whole log, with the notice in it, under the new key.
    const out = join(service.folder, 'acme.jsonl');
    const made = await run(['bundle', '--tenant', 'acme', '--out', out], { env });
    assert.equal(made.code, 0, made.stderr);
    const verified = await run(['verify', out, '--key', alone!], { env });
    assert.equal(verified.code, 0, verified.stderr);
    assert.match(readFileSync(out, 'utf8'), /"\/payload\/newKey"/);
    service.child.kill('SIGTERM');
    assert.equal((await service.ended).code, 0);
  });

  it('while it lasts, the key file that is served verifies a proof, a bundle, the data and the log', async () => {
    const settings = { TALLYSTICK_ADMIN_KEY: KEY, Log__CheckpointInterval: 'PT0.05S' };
    await using service = await serve({ env: settings });
    const data = join(service.folder, 'data');
    const env = { Storage__DataDirectory: data, TALLYSTICK_API_KEY: KEY };
    await proofOfNew(service);
    assert.equal((await run(['keys', 'rotate-signing'], { env })).code, 0);
    await until(async () => ((await keysOf(service)).length === 2 ? true : undefined));
    const [key, proof, bundle] = ['acme.key', 'proof.json', 'acme.jsonl'].map((name) =>
      join(service.folder, name),
    );
    writeFileSync(key!, await ask(service, '/log/t/acme/key'));
    writeFileSync(proof!, await proofTextOfNew(service));
    assert.equal((await run(['bundle', '--tenant', 'acme', '--out', bundle!], { env })).code, 0);
    const log = `http://127.0.0.1:${service.port}/api/v1/log/t/acme`;
    for (const what of [
      [proof!],
      [bundle!],
      [data, '--tenant', 'acme'],
      [log, '--state', join(service.folder, 'state')],
    ]) {
      const { code, stdout, stderr } = await run(['verify', ...what, '--key', key!], { env });
      assert.equal(code, 0, `${what[0]}: ${stdout}${stderr}`);
    }
    const { eventId } = JSON.parse(readFileSync(proof!, 'utf8')) as { eventId: string };
    const url = `http://127.0.0.1:${service.port}`;
    const told = await callTool({ url }, 'events_verify', { eventId }, { key: KEY, tenant: 'acme' });
    assert.equal(told.structuredContent['verified'], true, 'models are told the same');
    const [first] = await keysOf(service);
    const twice = await run(['verify', proof!, '--key', key!, '--key', first!], { env });
    assert.deepEqual([twice.code, /--key is given twice/.test(twice.stderr)], [2, true], twice.stderr);
  });

  it('does nothing without the anchor of logs that were signed', async () => {
    const settings = { TALLYSTICK_ADMIN_KEY: KEY, Log__CheckpointInterval: 'PT0.05S' };
    await using service = await serve({ env: settings });
    const data = join(service.folder, 'data');
    await proofOfNew(service);
    service.child.kill('SIGTERM');
    await service.ended;
    rmSync(join(data, 'anchor'));
    const { code, stdout, stderr } = await run(['keys', 'rotate-signing'], {
      env: { Storage__DataDirectory: data },
    });
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^tallystick: the anchor in \S+ knows none of the logs that were signed, [^\n]*\n$/);
  });

  it('refuses an overlap that is none, and data without a key', async () => {
    using place = await placeWithData();
    const none = await place.run(['keys', 'rotate-signing', '--overlap', '0s']);
    assert.deepEqual(
      [none.code, none.stderr],
      [2, 'tallystick: --overlap is 0s; it must be longer than that\n'],
    );
    rmSync(join(place.data, 'signing-keys'), { recursive: true });
    const keyless = await place.run(['keys', 'rotate-signing']);
    assert.equal(keyless.code, 1);
    assert.match(keyless.stderr, /there is no signing key in .*; start the service once\n$/);
  });
});
