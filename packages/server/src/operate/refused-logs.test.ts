// Commands that write to logs, on data whose logs are not those that were anchored, or without an anchor.

import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { AuditError } from '@tallystick/contract';
import { createKey, listKeys, type NewKey, revokeKey, rotateKey } from '../operate.ts';
import { StartError } from '../start-error.ts';
import { openOwnAnchor } from '../storage/anchor/file-anchor.ts';
import { SIGNING_KEYS_FOLDER } from '../storage/keys/signing-key-files.ts';
import { JOURNAL_FILE } from '../storage/sqlite/connection/database.ts';
import { openSignedLogs, SIGNED_ORIGIN, type SignedLogs } from '../testing/signed-log.ts';
import { rotateSigning } from './rotate-signing.ts';

const HOUR = 3_600_000;

const wish = (tenantId: string): NewKey => ({
  tenantId,
  name: 'a key',
  roles: ['Viewer'],
  scopes: [],
  clearance: undefined,
  lifetimeMs: undefined,
});

async function anchor({ directory }: SignedLogs, tenant: string, size: number, root: Uint8Array) {
  await using file = await openOwnAnchor(directory);
  await file.append([{ origin: `${SIGNED_ORIGIN}/t/${tenant}`, size, root }]);
}

async function entriesOf({ storage }: SignedLogs, tenant: string): Promise<number | undefined> {
  return (await storage.tree.standings()).find((standing) => standing.tenant === tenant)?.entries;
}

async function rootOf({ storage }: SignedLogs, tenant: string, size: number): Promise<Uint8Array> {
  return (await storage.tree.forTenant(tenant).tree())!.root(size);
}

function refused(error: unknown): boolean {
  assert.ok(error instanceof AuditError, String(error));
  assert.equal(error.code, 'SERVICE_UNAVAILABLE');
  assert.match(
    error.message,
    /^The log of acme is refused: .*(recover --new-epoch|not those that were signed)/,
  );
  return true;
}

function withoutAnchor(error: unknown): boolean {
  assert.ok(error instanceof StartError, String(error));
  assert.match(error.message, /^the anchor in .* knows none of the logs that were signed, .*Log__Anchor/);
  return true;
}

describe('a command that writes to logs', () => {
  it('changes no key of a tenant whose log has less than was signed, and appends nothing to it', async () => {
    await using logs = await openSignedLogs('acme', 'other');
    const { record } = await createKey(logs.config, wish('acme'));
    await logs.fill('other', 2);
    await logs.publish();
    await anchor(logs, 'other', 2, await rootOf(logs, 'other', 2));
    await anchor(logs, 'acme', 9, new Uint8Array(32).fill(7));
    await assert.rejects(createKey(logs.config, wish('acme')), refused);
    await assert.rejects(rotateKey(logs.config, record.keyId, HOUR), refused);
    await assert.rejects(revokeKey(logs.config, record.keyId), refused);
    assert.deepEqual([await entriesOf(logs, 'acme'), (await listKeys(logs.config, 'acme')).length], [1, 1]);
    assert.equal((await listKeys(logs.config, 'acme'))[0]?.status, 'Active');
    await createKey(logs.config, wish('other'));
    assert.equal(await entriesOf(logs, 'other'), 3);
  });

  it('reads a log back up to a head that is anchored and not stored before it writes to it', async () => {
    for (const isSame of [true, false]) {
      await using logs = await openSignedLogs('acme');
      await logs.fill('acme', 3);
      const { grown } = await logs.storage.tree.readGrowth();
      const { size, root } = grown[0]!.heads.at(-1)!;
      await logs.fill('acme', 2);
      await anchor(logs, 'acme', size, isSame ? root : new Uint8Array(32).fill(7));
      if (isSame) await createKey(logs.config, wish('acme'));
      else await assert.rejects(createKey(logs.config, wish('acme')), refused);
      assert.equal(await entriesOf(logs, 'acme'), isSame ? 6 : 5);
    }
  });

  it('writes to no log that cannot be read back as far as it was signed, however often it looks', async () => {
    await using logs = await openSignedLogs('acme');
    await logs.fill('acme', 3);
    const { root } = (await logs.storage.tree.readGrowth()).grown[0]!.heads.at(-1)!;
    await anchor(logs, 'acme', 3, root);
    using db = new DatabaseSync(join(logs.directory, JOURNAL_FILE));
    db.exec(
      `DROP TRIGGER entries_do_not_change; UPDATE entries SET leaf = randomblob(32) WHERE leaf_index = 1`,
    );
    for (let look = 0; look < 2; look++)
      await assert.rejects(createKey(logs.config, wish('acme')), /The log of acme is refused: /);
    assert.equal(await entriesOf(logs, 'acme'), 3);
  });

  it('does nothing where logs were signed and no anchor tells how far', async () => {
    await using logs = await openSignedLogs('acme');
    await logs.fill('acme', 2);
    await logs.publish();
    const keysBefore = readdirSync(join(logs.directory, SIGNING_KEYS_FOLDER));
    const refuseAll = async () => {
      await assert.rejects(rotateSigning(logs.config, HOUR), withoutAnchor);
      for (const tenant of ['acme', '*'])
        await assert.rejects(createKey(logs.config, wish(tenant)), withoutAnchor);
    };
    await refuseAll();
    assert.ok(!existsSync(join(logs.directory, 'anchor')), 'an anchor was made');
    await (await openOwnAnchor(logs.directory))[Symbol.asyncDispose]();
    await refuseAll();
    assert.deepEqual(readdirSync(join(logs.directory, SIGNING_KEYS_FOLDER)), keysBefore);
    assert.equal(await entriesOf(logs, 'acme'), 2);
    rmSync(join(logs.directory, 'anchor'));
    await anchor(logs, 'acme', 2, await rootOf(logs, 'acme', 2));
    assert.equal((await rotateSigning(logs.config, HOUR)).logs, 1);
  });
});
