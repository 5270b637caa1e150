import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { run, serve } from '../testing/command.ts';

const KEY = 'the-platform-key-of-this-test';
const folder = mkdtempSync(join(tmpdir(), 'tallystick-verify-store-'));
const data = join(folder, 'data');
after(() => rmSync(folder, { recursive: true, force: true }));

/** A service that took some events of two tenants, made a checkpoint and was stopped. */
before(async () => {
  const env = { Storage__DataDirectory: data, TALLYSTICK_ADMIN_KEY: KEY };
  await using service = await serve({ env });
  for (const tenant of ['acme', 'globex']) {
    const sent = await fetch(`http://127.0.0.1:${service.port}/api/v1/audit-events`, {
      method: 'POST',
      headers: { 'X-API-Key': KEY, 'X-Tenant-Id': tenant, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        timestamp: '2026-01-02T03:04:05.678Z',
        actor: { actorType: 'User', userId: 'u-1' },
        action: 'Read.Invoice',
        resource: { resourceType: 'Invoice', resourceId: 'INV-1' },
      }),
    });
    assert.equal(sent.status, 201);
    await untilSigned(tenant);
  }
  const running = await verify(data);
  assert.equal(running.code, 0, `while the service runs: ${running.stdout}${running.stderr}`);
  service.child.kill('SIGTERM');
  await service.ended;
});

interface Listed {
  readonly data: readonly { readonly eventId: string }[];
}

async function untilSigned(tenant: string): Promise<void> {
  using db = new DatabaseSync(join(data, 'journal.db'), { readOnly: true });
  const signed = db.prepare('SELECT 1 FROM checkpoints JOIN tenants USING (tenant) WHERE tenant_id = ?');
  while (signed.get(tenant) === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
}

function verify(...words: string[]) {
  return run(['verify', ...words]);
}

/** A copy of the data, after something was done to it. */
function tampered(name: string, tamper: (directory: string) => void): string {
  const directory = join(folder, name);
  mkdirSync(directory);
  mkdirSync(join(directory, 'signing-keys'), { mode: 0o700 });
  for (const file of ['journal.db', 'anchor', 'signing-keys/0001.pem', 'signing-keys/0001.json'])
    copyFileSync(join(data, file), join(directory, file));
  tamper(directory);
  return directory;
}

describe('tallystick verify <data directory>', () => {
  it('verifies a store and says how far it goes; with --verbose also what is no part of it', async () => {
    const { code, stdout, stderr } = await verify(data);
    assert.equal(code, 0, stderr);
    assert.match(
      stdout,
      /^verified .*data\n {2}entries +3 of 2 tenants and the installation: 3 with their values, 0 deleted/,
    );
    assert.match(stdout, /\/t\/acme: 1 entry\n/);
    assert.doesNotMatch(stdout, /no part|used_keys/);
    assert.match(
      stdout,
      /index +none that could differ: lists and searches find these events in the log itself/,
    );
    assert.equal(stderr, '');
    const more = await verify(data, '--verbose');
    const last = /^ {2}no part +of the evidence, and not looked at: .*api_keys.*used_keys.*\n/m.exec(
      more.stdout,
    );
    assert.equal(more.stdout.replace(last?.[0] ?? '', ''), stdout);
  });

  it('answers JSON for programs', async () => {
    const { stdout } = await verify(data, '--json');
    const report = JSON.parse(stdout) as Record<string, unknown>;
    assert.deepEqual([report['verified'], report['kind'], report['faults']], [true, 'Store', []]);
    assert.equal((report['totals'] as { entries: number }).entries, 3);
    assert.deepEqual(report['index'], { compared: true, events: 0, eventsLeftOut: 0, whyNot: null });
    const { index } = JSON.parse((await verify(data, '--json', '--without-index')).stdout) as typeof report;
    assert.deepEqual(index, { compared: false, events: 0, eventsLeftOut: 0, whyNot: 'it was not asked for' });
    const bare = tampered('bare', () => {});
    assert.match(
      (await verify(bare)).stdout,
      /index +NOT compared with the log: .*; there is none: the service makes it/,
    );
  });

  it('counts content that is gone without a notice as that, and not as deleted under notices', async () => {
    const directory = tampered('gone', (copy) => {
      using db = new DatabaseSync(join(copy, 'journal.db'));
      db.exec('DELETE FROM contents WHERE id = 2');
    });
    const { code, stdout } = await verify(directory);
    assert.equal(code, 1);
    assert.match(stdout, /fault +acme: GAP_UNEXPLAINED at index 0\n/);
    assert.match(
      stdout,
      / {2}entries +3 of 2 tenants and the installation: 2 with their values, 0 deleted under notices, 1 gone without a notice that was read\n/,
    );
    const { totals } = JSON.parse((await verify(directory, '--json')).stdout) as { totals: object };
    assert.partialDeepStrictEqual(totals, { entries: 3, values: 2, deleted: 0, unexplained: 1 });
  });

  it('names content that was put back behind a notice of its deletion, without doubt of the log', async () => {
    const directory = tampered('put-back', (copy) =>
      copyFileSync(join(data, 'keyring.json'), join(copy, 'keyring.json')),
    );
    const env = { Storage__DataDirectory: directory, TALLYSTICK_ADMIN_KEY: KEY };
    {
      await using service = await serve({ env });
      const headers = { 'X-API-Key': KEY, 'X-Tenant-Id': 'acme', 'Content-Type': 'application/json' };
      const events = `http://127.0.0.1:${service.port}/api/v1/audit-events`;
      const { data: listed } = (await (await fetch(events, { headers })).json()) as Listed;
      const body = JSON.stringify({ fields: ['actor.userId'], reason: 'asked for' });
      const redact = `${events}/${listed[0]!.eventId}/redact`;
      assert.equal((await fetch(redact, { method: 'POST', headers, body })).status, 200);
      service.child.kill('SIGTERM');
      await service.ended;
    }
    const gone = await verify(directory);
    assert.match(
      gone.stdout,
      /: 4 with their values \(1 of them in part\), 1 deleted under notices, wholly or in part\n/,
    );
    assert.doesNotMatch(gone.stdout, /undeleted/);
    {
      using db = new DatabaseSync(join(directory, 'journal.db'));
      db.prepare('ATTACH ? AS old').run(join(data, 'journal.db'));
      db.exec('REPLACE INTO contents SELECT * FROM old.contents WHERE id = 2');
    }
    const { code, stdout } = await verify(directory);
    assert.equal(code, 0);
    assert.match(stdout, /\n {2}undeleted +1 entry of .*\/t\/acme, the first at index 0: stored, though /);
    const { totals } = JSON.parse((await verify(directory, '--json')).stdout) as { totals: object };
    assert.partialDeepStrictEqual(totals, { deleted: 0, undeleted: 1 });
  });

  it('exits with 1 and names tenant, index and reason when it does not verify', async () => {
    const directory = tampered('changed', (copy) => {
      using db = new DatabaseSync(join(copy, 'journal.db'));
      db.exec(
        "UPDATE contents SET text1 = CAST(replace(CAST(text1 AS TEXT), 'INV-1', 'INV-2') AS BLOB) WHERE id = 2",
      );
    });
    const { code, stdout } = await verify(directory);
    assert.equal(code, 1);
    assert.match(
      stdout,
      /^NOT verified .*\n {2}fault +acme: LEAF_MISMATCH at index 0\n {2}because +entry 0: /,
    );
    const { faults } = JSON.parse((await verify(directory, '--json')).stdout) as { faults: object[] };
    assert.deepEqual(faults, [
      {
        tenant: 'acme',
        index: 0,
        reason: 'LEAF_MISMATCH',
        message: 'entry 0: its content is not what was hashed',
      },
    ]);
    assert.equal((await verify(directory, '--tenant', 'globex')).code, 0);
    assert.equal((await verify(directory, '--tenant', 'acme')).code, 1);
  });

  it('exits with 1 and without a trace when the file is damaged', async () => {
    const directory = tampered('damaged', (copy) => {
      const image = readFileSync(join(copy, 'journal.db'));
      writeFileSync(join(copy, 'journal.db'), image.fill(0x5a, 16_384));
    });
    const { code, stdout, stderr } = await verify(directory);
    assert.deepEqual([code, stderr], [1, '']);
    assert.match(
      stdout,
      /NOT verified .*\n {2}fault +the store: MALFORMED\n {2}because +the database is damaged/,
    );
  });

  it('holds the log against the anchor, wherever that is', async () => {
    const directory = tampered('moved', (copy) => {
      copyFileSync(join(copy, 'anchor'), join(folder, 'elsewhere'));
      rmSync(join(copy, 'anchor'));
    });
    assert.match((await verify(directory)).stdout, /the store: HISTORY_UNPROVEN/);
    assert.equal((await verify(directory, '--anchor', join(folder, 'elsewhere'))).code, 0);
  });

  it('verifies a copy without its signing keys by the public key, and by nothing else', async () => {
    const copy = tampered('public', (directory) =>
      rmSync(join(directory, 'signing-keys'), { recursive: true }),
    );
    const { stdout: bundled } = await run(['bundle', '--tenant', 'acme', '--out', join(folder, 'b.jsonl')], {
      env: { Storage__DataDirectory: data },
    });
    const key = /key +(\S+)/.exec(bundled)![1]!;
    assert.equal((await verify(copy, '--key', key)).code, 0);
    // What else is wrong is told all the same.
    using db = new DatabaseSync(join(copy, 'journal.db'));
    db.exec('DROP TRIGGER entries_stay');
    const { code, stdout } = await verify(copy);
    assert.equal(code, 1);
    assert.match(stdout, /keys +NONE: the directory has no signing-keys/);
  });

  it('exits with 2 and one line when it could not run', async () => {
    const empty = join(folder, 'empty');
    mkdirSync(empty);
    const keyless = tampered('keyless', (copy) => rmSync(join(copy, 'signing-keys'), { recursive: true }));
    const cases: [string[], RegExp][] = [
      [[empty], /without data/],
      [[data, '--anchor', join(folder, 'anchro')], /--anchor: there is no anchor at .*anchro\n/],
      [[data, '--anchor', empty], /--anchor: there is no anchor at .*empty\n/],
      [[keyless], /keyless has no signing-keys, .* give the log's public key by --key\n/],
      [[data, '--key', join(data, 'journal.db')], /journal\.db is no text, so it holds no key\n/],
      [[data, '--tenant', 'nobody'], /there is no tenant nobody/],
      [[data, '--key', 'README'], /--key is "README", which is neither a key \(.*\) nor a file/],
      [[data, '--nothing-withheld'], /--nothing-withheld is for bundles and proofs/],
      [[data, '--since', join(data, 'anchor')], /the checkpoint seen before cannot be used/],
    ];
    for (const [words, message] of cases) {
      const { code, stdout, stderr } = await verify(...words);
      assert.deepEqual([code, stdout], [2, ''], words.join(' '));
      assert.match(stderr, message);
      assert.equal(stderr.trim().split('\n').length, 1, stderr);
    }
  });
});
