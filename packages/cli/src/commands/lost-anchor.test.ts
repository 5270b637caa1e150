// An old copy of the data with its anchor taken away: the attack that a restart must not hide, and the way to go on openly,
// with the real command.

import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { EvidenceError } from '@tallystick/evidence';
import { type Ended, start } from '../testing/command.ts';
import { emptyPlace, type Place } from '../testing/place.ts';
import { ADMIN_KEY, type RunningLog, startLog, TENANT } from '../testing/running-log.ts';
import { verifyLogAt } from '../verify/verify-log.ts';

const ACCEPT = ['recover', '--accept-lost-anchor'];

/** A start that must be refused. */
async function startOn(place: Place): Promise<Ended> {
  await using service = start(['serve'], { env: { ...place.env, Server__Port: '0' } });
  const ready = service.prints(/is ready/).then(() => Promise.reject(new Error('it has started')));
  return await Promise.race([service.ended, ready]);
}

function refusalOf(anchor: string): RegExp {
  const way = 'run `tallystick recover --accept-lost-anchor`';
  return new RegExp(`^tallystick: the anchor in ${anchor} knows none of the logs [^\\n]*${way}[^\\n]*\\n$`);
}

/** The journal of a moment at which three events of a log were signed; then it goes on by four. */
async function makeHistory(place: Place, whenGrown: (log: RunningLog) => Promise<void>): Promise<string> {
  const copy = join(place.folder, 'journal-then');
  {
    await using log = await startLog(place);
    await sendOther(log);
    assert.equal(await log.send(3), 3);
  }
  foldWal(place);
  cpSync(join(place.data, 'journal.db'), copy);
  await using log = await startLog(place);
  assert.equal(await log.send(4), 7);
  await whenGrown(log);
  return copy;
}

/** An event of another tenant, so that there are two logs. */
async function sendOther({ url }: RunningLog): Promise<void> {
  const headers = { 'X-API-Key': ADMIN_KEY, 'X-Tenant-Id': 'other', 'Content-Type': 'application/json' };
  const actor = { actorType: 'User', userId: 'u-1' };
  const resource = { resourceType: 'Invoice', resourceId: 'INV-1' };
  const event = { timestamp: '2026-01-02T03:04:05.678Z', actor, action: 'Read.Invoice', resource };
  const sent = await fetch(`${url}/api/v1/audit-events`, {
    method: 'POST',
    headers,
    body: JSON.stringify(event),
  });
  const { eventId } = (await sent.json()) as { eventId: string };
  assert.equal((await fetch(`${url}/api/v1/audit-events/${eventId}/proof`, { headers })).status, 200);
}

/** The service was killed: what is newest is in the write-ahead log. */
function foldWal({ data }: Place): void {
  using db = new DatabaseSync(join(data, 'journal.db'));
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}

function putBack({ data }: Place, copy: string): void {
  for (const tail of ['', '-wal', '-shm']) rmSync(join(data, `journal.db${tail}`), { force: true });
  cpSync(copy, join(data, 'journal.db'));
}

/** What the notices of each tenant's log say of lost anchors, with their indexes. */
function lossesIn({ data }: Place): [tenant: string, index: number, signedSize: number][] {
  using db = new DatabaseSync(join(data, 'journal.db'), { readOnly: true });
  const rows = db
    .prepare(
      `SELECT tenant_id, leaf_index, CAST(text2 AS TEXT) AS text FROM contents JOIN entries USING (id)
       JOIN tenants USING (tenant) WHERE text LIKE '%AnchorLossAccepted%' ORDER BY tenant_id, leaf_index`,
    )
    .all();
  return rows.map(({ tenant_id: tenant, leaf_index: index, text }) => {
    const { payload } = JSON.parse(String(text)) as { payload: { signedSize: number } };
    return [String(tenant), Number(index), payload.signedSize];
  });
}

interface StoreReport {
  readonly verified: boolean;
  readonly faults: readonly { readonly reason: string; readonly message: string }[];
  readonly tenants: readonly { readonly logs: readonly { readonly anchorLosses: readonly object[] }[] }[];
}

async function verdictOn(place: Place): Promise<{ code: number | null; report: StoreReport; text: string }> {
  const { stdout: text } = await place.run(['verify', place.data]);
  const { code, stdout } = await place.run(['verify', place.data, '--json']);
  return { code, report: JSON.parse(stdout) as StoreReport, text };
}

/** What somebody says who keeps a checkpoint of the log. */
async function readerSays(log: RunningLog, state: string, key: string): Promise<string> {
  try {
    await verifyLogAt(log.address, { apiKey: ADMIN_KEY, key: [key], state });
    return 'verified';
  } catch (error) {
    assert.ok(error instanceof EvidenceError, String(error));
    return error.reason;
  }
}

describe('an old copy of the data without its anchor', { concurrency: 2 }, () => {
  it('does not start, however often; accepted it says so in every log, and readers see the rollback', async () => {
    using place = emptyPlace();
    const [state, anchor] = [join(place.folder, 'state'), join(place.data, 'anchor')];
    let key = '';
    const copy = await makeHistory(place, async (log) => {
      key = (await log.get(`log/t/${TENANT}/key`)).trim();
      assert.equal(await readerSays(log, state, key), 'verified');
    });
    putBack(place, copy);
    rmSync(anchor);
    const before = await verdictOn(place);
    assert.equal(before.code, 1);
    assert.deepEqual(
      before.report.faults.map(({ reason }) => reason),
      ['HISTORY_UNPROVEN'],
    );
    assert.match(before.text, /^NOT verified [^]*there is no anchor, although logs were signed/);
    for (let restart = 1; restart <= 2; restart++) {
      const { code, stdout, stderr } = await startOn(place);
      assert.deepEqual([code, stdout], [1, ''], `start ${restart}`);
      assert.match(stderr, refusalOf(place.data));
    }
    assert.match(
      (await verdictOn(place)).text,
      /^NOT verified [^]*there is no anchor, although logs were signed/,
    );

    const shown = await place.run(['recover']);
    assert.equal(shown.code, 1, 'logs wait for somebody');
    assert.match(shown.stdout, /tenant acme\n {2}signed +3 entries, root [0-9a-f]{64}, as \S+\/t\/acme: /);
    assert.match(
      shown.stdout,
      /tenant other\n {2}signed +1 entry, [^]*if it is lost: tallystick recover --accept-lost-anchor\n$/,
    );
    const wrong = await place.run(['recover', '--new-epoch', '--yes']);
    assert.deepEqual([wrong.code, wrong.stderr], [1, 'tallystick: nothing was changed\n']);
    const unasked = await place.run(ACCEPT);
    assert.deepEqual([unasked.code, lossesIn(place)], [2, []]);
    assert.equal((await startOn(place)).code, 1, 'looking accepts nothing');

    const accepted = await place.run([...ACCEPT, '--yes']);
    assert.equal(accepted.code, 0, accepted.stderr);
    assert.match(accepted.stdout, /acme goes on as \S+: a notice in it says that its anchor was lost/);
    assert.deepEqual(lossesIn(place), [
      ['*', 1, 1],
      ['acme', 3, 3],
      ['other', 1, 1],
    ]);
    const after = await verdictOn(place);
    assert.deepEqual([after.code, after.report.verified], [0, true], after.text);
    assert.match(after.text, /anchor +that of \S+\/t\/acme was lost, [^\n]*index 3: [^\n]*since size 3,/);

    {
      await using log = await startLog(place);
      assert.equal(await readerSays(log, state, key), 'ROLLBACK');
      assert.equal(await log.send(6), 10);
      assert.equal(await readerSays(log, state, key), 'FORK');
    }
    const grown = await verdictOn(place);
    assert.equal(grown.code, 0, grown.text);
    assert.deepEqual(
      grown.report.tenants.map(({ logs }) => logs[0]!.anchorLosses.length),
      [1, 1, 1],
    );
    const again = await place.run([...ACCEPT, '--yes']);
    assert.deepEqual([again.code, lossesIn(place).length], [0, 3], 'there is nothing to accept any more');
  });

  it('does not start either where Log__Anchor names another place than before', async () => {
    using place = emptyPlace();
    await makeHistory(place, async () => {});
    const elsewhere = join(place.folder, 'elsewhere');
    mkdirSync(elsewhere);
    const { code, stderr } = await startOn({ ...place, env: { ...place.env, Log__Anchor: elsewhere } });
    assert.equal(code, 1);
    assert.match(stderr, refusalOf(elsewhere));
    const kept = readFileSync(join(place.data, 'anchor'));
    cpSync(join(place.data, 'anchor'), join(elsewhere, 'anchor'));
    await using log = await startLog({ ...place, env: { ...place.env, Log__Anchor: elsewhere } });
    assert.equal(await log.send(1), 8);
    assert.ok(readFileSync(join(place.data, 'anchor')).equals(kept));
  });

  it('is not to be mixed up with a new installation, nor with other ways to go on', async () => {
    using place = emptyPlace();
    {
      await using log = await startLog(place);
      assert.ok(existsSync(join(place.data, 'anchor')), log.url);
    }
    await using _ = await startLog(place);
    const wrong: [string[], RegExp][] = [
      [['--new-epoch'], /^tallystick: give --new-epoch or --accept-lost-anchor, not both/],
      [['--tenant', 'acme'], /^tallystick: --accept-lost-anchor is for every log that is affected/],
    ];
    for (const [more, expected] of wrong) {
      const { code, stderr } = await place.run([...ACCEPT, ...more]);
      assert.equal(code, 2);
      assert.match(stderr, expected);
    }
  });
});
