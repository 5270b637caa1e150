// A data directory that is put back to an earlier state while its anchor is not: the whole way, with the real command.

import assert from 'node:assert/strict';
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import {
  EvidenceError,
  formatVerifierKey,
  noteVerifier,
  openCheckpoint,
  parseCheckpoint,
  parseEventProof,
  parseNote,
  parseVerifierKey,
  verifyEventProof,
} from '@tallystick/evidence';
import { startTestApp, type TestApp } from '../../../server/src/testing/test-app.ts';
import { run } from '../testing/command.ts';
import { emptyPlace, type Place } from '../testing/place.ts';

const KEY = 'correct-horse-battery-1';
const SETTINGS = {
  TALLYSTICK_ADMIN_KEY: KEY,
  Log__Origin: 'audit.example.com',
  Log__CheckpointInterval: 'PT0.05S',
};
const ORIGIN = 'audit.example.com/t/acme';
const EVENT = {
  timestamp: '2026-01-02T03:04:05Z',
  actor: { actorType: 'User', userId: 'u-1' },
  action: 'Delete.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
};

interface Answered {
  readonly status: number;
  readonly text: string;
}

type Service = TestApp;

const start = (place: Place): Promise<Service> => startTestApp({ ...place.env, ...SETTINGS });
const command = (place: Place, ...args: string[]) => run(args, { env: { ...place.env, ...SETTINGS } });

async function stop(service: Service): Promise<void> {
  await service[Symbol.asyncDispose]();
}

async function ask({ port }: Service, tenant: string, path: string, body?: unknown): Promise<Answered> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'X-API-Key': KEY, 'X-Tenant-Id': tenant, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

/** The ids of so many new events. */
async function send(service: Service, tenant: string, count: number): Promise<string[]> {
  const events = Array.from({ length: count }, () => EVENT);
  const { status, text } = await ask(service, tenant, '/audit-events/batch', { events });
  assert.equal(status, 201, text);
  return (JSON.parse(text) as { results: { eventId: string }[] }).results.map(({ eventId }) => eventId);
}

async function keysOf(service: Service): Promise<string[]> {
  return (await ask(service, 'acme', '/log/t/acme/key')).text.trim().split('\n');
}

const verifiersOf = async (service: Service) => Promise.all((await keysOf(service)).map(noteVerifier));

/** The same key, for the log of another name. */
const under = (origin: string) => (key: string) =>
  formatVerifierKey({ ...parseVerifierKey(key), name: origin });

async function proofOf(service: Service, eventId: string) {
  const { status, text } = await ask(service, 'acme', `/audit-events/${eventId}/proof`);
  assert.equal(status, 200, text);
  return parseEventProof(text);
}

/** Of the log that is served now. */
async function checkpointOf(service: Service) {
  const { text } = await ask(service, 'acme', '/log/t/acme/checkpoint');
  const { origin } = parseCheckpoint(parseNote(text).text);
  return openCheckpoint(text, { origin, verifiers: await verifiersOf(service) });
}

/** Puts the journal back to what it was; anchor and keys stay. */
function restore(place: Place, copy: string): void {
  for (const tail of ['', '-wal', '-shm']) rmSync(join(place.data, `journal.db${tail}`), { force: true });
  cpSync(copy, join(place.data, 'journal.db'));
}

async function verifies(place: Place, keys: readonly string[], ...part: string[]): Promise<string> {
  const out = join(place.folder, `bundle-${part.join('')}.jsonl`);
  const made = await command(place, 'bundle', '--tenant', 'acme', '--out', out, ...part);
  assert.equal(made.code, 0, made.stderr);
  const verified = await command(place, 'verify', out, ...keys.flatMap((key) => ['--key', key]));
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);
  return readFileSync(out, 'utf8').split('\n')[0]!;
}

describe('tallystick recover', { concurrency: 2 }, () => {
  it('goes on under a new name after a restore, twice, and everything can be verified', async () => {
    using place = emptyPlace();
    const copy = join(place.folder, 'copy.db');
    let old: string[];
    {
      await using service = await start(place);
      old = await send(service, 'acme', 3);
      const others = await send(service, 'other', 2);
      await proofOf(service, old[2]!);
      assert.equal((await ask(service, 'other', `/audit-events/${others[1]}/proof`)).status, 200);
      await stop(service);
    }
    cpSync(join(place.data, 'journal.db'), copy);
    let held: Awaited<ReturnType<typeof checkpointOf>>;
    let lost: string[];
    {
      await using service = await start(place);
      lost = await send(service, 'acme', 4);
      await proofOf(service, lost[3]!);
      held = await checkpointOf(service);
      assert.deepEqual([held.origin, held.size], [ORIGIN, 7]);
      await stop(service);
    }
    restore(place, copy);
    {
      await using service = await start(place);
      const refused = await ask(service, 'acme', '/audit-events', EVENT);
      assert.equal(refused.status, 503);
      assert.match(
        refused.text,
        /The log of acme is refused: it was signed with 7 entries and has 3\..*recover --new-epoch/,
      );
      assert.equal((await ask(service, 'acme', `/audit-events/${old[0]}/proof`)).status, 503);
      assert.equal((await ask(service, 'acme', '/log/t/acme/checkpoint')).status, 503);
      assert.equal((await ask(service, 'acme', `/audit-events/${old[0]}`)).status, 200, 'it can be read');
      await send(service, 'other', 1);
      const running = await command(place, 'recover', '--new-epoch', '--yes');
      assert.equal(running.code, 1);
      assert.match(running.stderr, /another instance is running/);
      await stop(service);
    }
    const asked = await command(place, 'recover', '--new-epoch');
    assert.equal(asked.code, 2, 'nobody is there to say yes');
    assert.match(
      asked.stdout,
      /tenant acme\n +signed +7 entries as audit\.example\.com\/t\/acme, root [0-9a-f]{64}/,
    );
    assert.match(asked.stdout, /here +3 entries of them\n +lost +sequences 4 to 7, /);
    assert.doesNotMatch(asked.stdout, /other/);
    assert.match(asked.stderr, /--yes/);
    const shown = await command(place, 'recover');
    assert.equal(shown.code, 1, 'a tenant waits for somebody');
    assert.match(
      shown.stdout,
      /tenant acme\n[\s\S]*\nTo go on with new logs: tallystick recover --new-epoch\n$/,
    );
    assert.equal(shown.stderr, 'tallystick: nothing was changed\n');
    assert.doesNotMatch(shown.stdout, /nothing was changed/i, 'it is said twice');
    const other = await command(place, 'recover', '--accept-lost-anchor', '--yes');
    assert.equal(other.code, 1, 'it is the store that is behind, not the anchor');
    assert.match(other.stdout, /\nTo go on with new logs: tallystick recover --new-epoch\n$/);
    const done = await command(place, 'recover', '--new-epoch', '--yes');
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stdout, /acme goes on as audit\.example\.com\/t\/acme\/1, from sequence 4 on/);
    assert.match(done.stdout, /Tell auditors/);
    const again = await command(place, 'recover', '--new-epoch', '--yes');
    assert.deepEqual(
      [again.code, again.stdout],
      [0, 'Every log is what was signed: there is nothing to recover.\n'],
    );
    const unsigned = await command(place, 'verify', place.data);
    assert.equal(unsigned.code, 1, 'what is not signed excuses nothing');
    assert.match(
      unsigned.stdout,
      /acme: HISTORY_UNPROVEN at index 3\n.*start the service once and verify again/,
    );
    let keys: string[];
    {
      await using service = await start(place);
      assert.equal((await ask(service, 'acme', `/audit-events/${lost[0]}`)).status, 404);
      const fresh = await send(service, 'acme', 300);
      const { text } = await ask(service, 'acme', `/audit-events/${fresh[0]}`);
      const event = JSON.parse(text) as { sequence: number; integrity: { leafIndex: number } };
      assert.deepEqual([event.sequence, event.integrity.leafIndex], [5, 1]);
      const proof = await proofOf(service, fresh.at(-1)!);
      keys = await keysOf(service);
      const verifiers = await verifiersOf(service);
      const verdict = await verifyEventProof(proof, { verifiers });
      assert.deepEqual([verdict.origin, verdict.entry.index], [`${ORIGIN}/1`, 300]);
      // Who holds a checkpoint of the old log sees that this is another one, and that it is no longer that one.
      const now = await checkpointOf(service);
      await assert.rejects(
        verifyEventProof(proof, { verifiers, since: held }),
        (error) =>
          error instanceof EvidenceError &&
          /^the older checkpoint is of \S+acme, not of \S+acme\/1$/.test(error.message),
      );
      // The old events are proven under the old name, by the last checkpoint that the copy has.
      const before = await verifyEventProof(await proofOf(service, old[2]!), {
        verifiers: await Promise.all(keys.map(under(ORIGIN)).map(noteVerifier)),
      });
      assert.deepEqual([before.origin, before.checkpoint.size], [ORIGIN, 3]);
      for (const tile of ['tile/0/000', 'tile/1/000.p/1', 'tile/entries/000']) {
        assert.equal((await ask(service, 'acme', `/log/t/acme/${tile}`)).status, 200, tile);
      }
      const consistency = await ask(service, 'acme', `/checkpoints/consistency?from=1&to=${now.size}`);
      assert.equal(consistency.status, 200, consistency.text);
      await stop(service);
    }
    const signed = await command(place, 'verify', place.data);
    assert.equal(signed.code, 0, signed.stdout);
    const header = await verifies(place, keys);
    assert.match(
      header,
      /"origin":"audit\.example\.com\/t\/acme\/1".*"previousCheckpoint":"audit\.example\.com\/t\/acme\\n7\\n/,
    );
    await verifies(place, keys.map(under(ORIGIN)), '--to', '3');
    // The same old copy once more: what came after the first recovery is gone, too.
    restore(place, copy);
    const twice = await command(place, 'recover', '--new-epoch', '--tenant', 'acme', '--yes');
    assert.equal(twice.code, 0, twice.stderr);
    assert.match(
      twice.stdout,
      /signed +301 entries as audit\.example\.com\/t\/acme\/1, .*\n +here +0 entries/,
    );
    assert.match(twice.stdout, /acme goes on as audit\.example\.com\/t\/acme\/2, from sequence 4 on/);
    {
      await using service = await start(place);
      const [last] = (await send(service, 'acme', 2)).slice(-1);
      const verdict = await verifyEventProof(await proofOf(service, last!), {
        verifiers: await verifiersOf(service),
      });
      assert.deepEqual([verdict.origin, verdict.entry.index], [`${ORIGIN}/2`, 2]);
      await stop(service);
    }
  });

  it('does nothing where nothing is lost, and says so', async () => {
    using place = emptyPlace();
    const none = await command(place, 'recover', '--new-epoch', '--yes');
    assert.equal(none.code, 2, 'there is no data');
    {
      await using service = await start(place);
      const empty = await send(service, 'acme', 1);
      await proofOf(service, empty[0]!);
      await stop(service);
    }
    const { code, stdout } = await command(place, 'recover', '--new-epoch', '--tenant', 'acme', '--yes');
    assert.deepEqual(
      [code, stdout],
      [0, 'The log of acme is what was signed: there is nothing to recover.\n'],
    );
    for (const more of [[], ['--new-epoch', '--yes']]) {
      const typo = await command(place, 'recover', '--tenant', 'amce', ...more);
      assert.deepEqual([typo.code, typo.stdout], [2, ''], 'a slip of the pen is no clean bill');
      assert.equal(typo.stderr, 'tallystick: there is no tenant amce: nothing was looked at or changed\n');
    }
    rmSync(join(place.data, 'anchor'));
    await command(place, 'recover');
    assert.ok(!existsSync(join(place.data, 'anchor')), 'a command that only reads has made an anchor');
    const blind = await command(place, 'recover', '--new-epoch', '--yes');
    assert.deepEqual([blind.code, blind.stderr], [1, 'tallystick: nothing was changed\n']);
    assert.match(
      blind.stdout,
      /anchored nothing that is known\n[^]*if it is lost: tallystick recover --accept-lost-anchor\n$/,
    );
    const ofOne = await command(place, 'recover', '--tenant', 'acme');
    assert.match(ofOne.stdout, /if it is lost: tallystick recover --accept-lost-anchor\n$/);
  });

  it('refuses a store that has other entries than were signed, also where it has fewer', async () => {
    using place = emptyPlace();
    const [journal, anchor] = [join(place.data, 'journal.db'), join(place.data, 'anchor')];
    const copyOf = (name: string) => join(place.folder, name);
    const goOn = async (...counts: number[]) => {
      await using service = await start(place);
      for (const count of counts) await proofOf(service, (await send(service, 'acme', count)).at(-1)!);
      await send(service, 'other', 1);
      await stop(service);
    };
    await goOn(2);
    for (const [from, to] of [[journal, 'journal'] as const, [anchor, 'anchor'] as const])
      cpSync(from, copyOf(to));
    await goOn(3, 3);
    cpSync(anchor, copyOf('newest'));
    // The same log goes on otherwise where nobody knows of that, and comes back behind the anchor that does.
    restore(place, copyOf('journal'));
    cpSync(copyOf('anchor'), anchor);
    await goOn(4);
    cpSync(copyOf('newest'), anchor);
    for (const more of [[], ['--new-epoch', '--yes']]) {
      const { code, stdout, stderr } = await command(place, 'recover', '--tenant', 'acme', ...more);
      assert.deepEqual([code, stdout], [1, ''], stderr);
      assert.match(
        stderr,
        /log of acme holds another history: the first 5 entries of \S+acme are not those that were signed with root [0-9a-f]{64}: theirs is [0-9a-f]{64}\./,
      );
      assert.match(stderr, /nothing was changed\n$/);
    }
    const verified = await command(place, 'verify', place.data, '--tenant', 'acme');
    assert.equal(verified.code, 1);
    assert.match(verified.stdout, /acme: FORK at index 2/);
    await using service = await start(place);
    const refused = await ask(service, 'acme', '/audit-events', EVENT);
    assert.deepEqual([refused.status, /are not those that were signed/.test(refused.text)], [503, true]);
    await stop(service);
  });

  it('does not call a log sound that it cannot read', async () => {
    using place = emptyPlace();
    {
      await using service = await start(place);
      const ids = await send(service, 'acme', 2);
      await proofOf(service, ids[1]!);
      const [other] = await send(service, 'other', 1);
      assert.equal((await ask(service, 'other', `/audit-events/${other}/proof`)).status, 200);
      await stop(service);
    }
    {
      // As a crash between anchor and checkpoint leaves it, and with a byte that is another: the log is read back.
      using db = new DatabaseSync(join(place.data, 'journal.db'));
      db.exec(
        `DELETE FROM checkpoints WHERE tenant = 2; DROP TRIGGER entries_do_not_change;
         UPDATE entries SET leaf = zeroblob(32) WHERE tenant = 2`,
      );
    }
    for (const tenant of [[], ['--tenant', 'acme']]) {
      const { code, stdout, stderr } = await command(place, 'recover', ...tenant);
      assert.deepEqual([code, stdout], [1, ''], stderr);
      assert.match(stderr, /the log of acme is damaged .*\n.*nothing was changed\n$/);
    }
    {
      using db = new DatabaseSync(join(place.data, 'journal.db'));
      db.exec('DROP TRIGGER entries_stay; DELETE FROM contents WHERE id = 4');
      for (const table of ['entries', 'streams', 'checkpoints'])
        db.exec(`DELETE FROM ${table} WHERE tenant = 3`);
    }
    const { code, stdout, stderr } = await command(place, 'recover', '--new-epoch', '--yes');
    assert.equal(code, 1, 'one goes on, and one does not');
    assert.match(stdout, /^other goes on as audit\.example\.com\/t\/other\/1/m);
    assert.match(stderr, /the log of acme is damaged .*\n.*not every log could go on\n$/);
  });

  it('knows a tenant that is younger than the copy: nothing is written under its old name', async () => {
    using place = emptyPlace();
    const copy = join(place.folder, 'copy.db');
    {
      await using service = await start(place);
      await stop(service);
    }
    cpSync(join(place.data, 'journal.db'), copy);
    {
      await using service = await start(place);
      const ids = await send(service, 'acme', 2);
      await proofOf(service, ids[1]!);
      await stop(service);
    }
    restore(place, copy);
    {
      await using service = await start(place);
      const refused = await ask(service, 'acme', '/audit-events', EVENT);
      assert.equal(refused.status, 503);
      assert.match(
        refused.text,
        /signed as audit\.example\.com\/t\/acme with 2 entries, and none of them is there/,
      );
      await stop(service);
    }
    const done = await command(place, 'recover', '--new-epoch', '--tenant', 'acme', '--yes');
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stdout, /acme goes on as audit\.example\.com\/t\/acme\/1, from sequence 1 on/);
    await using service = await start(place);
    const [id] = await send(service, 'acme', 1);
    const verdict = await verifyEventProof(await proofOf(service, id!), {
      verifiers: await verifiersOf(service),
    });
    assert.deepEqual([verdict.origin, verdict.entry.index], [`${ORIGIN}/1`, 1]);
    await stop(service);
  });
});
