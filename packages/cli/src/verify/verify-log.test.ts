// Logs as a stranger verifies them, served by the real service, and by proxies that lie.

import assert from 'node:assert/strict';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { EvidenceError, noteVerifier, openCheckpoint, REASONS } from '@tallystick/evidence';
import { emptyPlace, type Place } from '../testing/place.ts';
import {
  ADMIN_KEY,
  type LyingProxy,
  type RunningLog,
  startLog,
  startProxy,
  TENANT,
} from '../testing/running-log.ts';
import { type LogOptions, verifyLogAt } from './verify-log.ts';

const scratch = mkdtempSync(join(tmpdir(), 'tallystick-verify-log-'));
after(() => rmSync(scratch, { recursive: true }));
const newState = () => mkdtempSync(join(scratch, 'state-'));

type Verdict = Readonly<Record<string, unknown>> & { readonly checkpoint: { readonly size: number } };

async function verify(address: string, options: LogOptions): Promise<Verdict> {
  const { json } = await verifyLogAt(address, { apiKey: ADMIN_KEY, ...options });
  assert.equal(json['verified'], true);
  return json as Verdict;
}

/** The reason for which it is not verified; nothing else may come of it. */
async function refused(address: string, options: LogOptions): Promise<string> {
  try {
    await verify(address, options);
  } catch (error) {
    assert.ok(error instanceof EvidenceError, String(error));
    return error.reason;
  }
  return 'verified';
}

function keptIn(state: string, file = 'checkpoint'): string | undefined {
  const path = readdirSync(state).map((folder) => join(state, folder, file))[0];
  return path !== undefined && existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

describe('a log that is served', () => {
  let place: Place;
  let log: RunningLog;
  let proxy: LyingProxy;
  let key: string;
  before(async () => {
    place = emptyPlace();
    log = await startLog(place);
    await log.send(300);
    await log.seal();
    await log.send(10);
    proxy = await startProxy(log.url);
    key = (await log.get(`log/t/${TENANT}/key`)).trim();
  });
  after(async () => {
    await proxy[Symbol.asyncDispose]();
    await log[Symbol.asyncDispose]();
    place[Symbol.dispose]();
  });
  const proxied = () => `${proxy.url}/api/v1/log/t/${TENANT}`;

  it('is verified from its first entry to its last, and its checkpoint is kept', async () => {
    const state = newState();
    const verdict = await verify(log.address, { key: [key], state, entries: true });
    assert.deepEqual([verdict.checkpoint.size, verdict['extends']], [311, null]);
    assert.deepEqual(verdict['entries'], {
      ...(verdict['entries'] as object),
      entries: 311,
      notices: 1,
      tiles: 3,
    });
    assert.equal(keptIn(state), await log.get(`log/t/${TENANT}/checkpoint`));
  });

  it('must extend what was kept, and is known by its address from then on', async () => {
    const state = newState();
    const first = await verify(log.url, { key: [key], state, tenant: TENANT });
    const { size } = first.checkpoint;
    const grown = await log.send(300);
    const second = await verify(log.address, { state });
    assert.deepEqual([second.checkpoint.size, second['extends'], second['keysFrom']], [grown, size, 'Kept']);
    const since = join(scratch, 'older');
    cpSync(join(state, readdirSync(state)[0]!, 'checkpoint'), since);
    const third = await verify(log.address, { key: [key], since, state: newState() });
    assert.equal(third['extends'], grown);
  });

  it('is not believed about its own key, unless that is asked for, and then only once', async () => {
    const state = newState();
    await assert.rejects(verify(proxied(), { state }), /--key is missing/);
    const first = await verify(proxied(), { state, pinFirstKey: true });
    assert.deepEqual([first['keysFrom'], first['keys']], ['FirstUse', [key]]);
    // Another service at the same address: what it shows of itself does not matter any more.
    using otherPlace = emptyPlace();
    await using other = await startLog(otherPlace);
    await other.send(1);
    proxy.target = other.url;
    assert.equal(await refused(proxied(), { state, pinFirstKey: true }), 'ORIGIN_MISMATCH');
    assert.equal(await refused(proxied(), { state }), 'ORIGIN_MISMATCH');
    proxy.target = log.url;
    assert.equal((await verify(proxied(), { state, pinFirstKey: true }))['keysFrom'], 'Kept');
  });

  it('is refused with a key that it has not signed with', async () => {
    const [name] = key.split('+');
    const other = `${name}+00000000+${key.split('+').slice(2).join('+')}`;
    await assert.rejects(verify(log.address, { key: [other], state: newState() }), /no usable key/);
    const ofOther = 'audit.example.com/t/acme+38df7d1a+AUBGtHFZDMZhwJ3+knMasraAcxQL0fq7InuXBaVqR8oG';
    assert.equal(await refused(log.address, { key: [ofOther], state: newState() }), 'ORIGIN_MISMATCH');
  });

  it('is not verified when a single byte of anything that is read was altered', async () => {
    const kinds = [/\/checkpoint$/, /\/tile\/0\//, /\/tile\/1\//, /\/tile\/entries\//];
    for (const kind of kinds) {
      for (const at of [0, 17, 31, 40, 90, 117, 131, -1]) {
        const state = newState();
        proxy.lie = (path, bytes) => (kind.test(path) ? flipped(bytes, at) : undefined);
        const reason = await refused(proxied(), { key: [key], state, entries: true });
        assert.ok(
          REASONS.some((each) => each === reason),
          `${kind} ${at}: ${reason}`,
        );
        assert.equal(keptIn(state), undefined, 'nothing is kept of it');
      }
    }
    proxy.lie = () => undefined;
  });

  it('is not verified when tiles that show its growth were altered, which is no fork', async () => {
    const state = newState();
    await verify(proxied(), { key: [key], state });
    await log.send(1);
    const kept = keptIn(state);
    proxy.lie = (path, bytes) => (path.includes('/tile/') ? flipped(bytes, 5) : undefined);
    assert.equal(await refused(proxied(), { state }), 'ROOT_MISMATCH');
    proxy.lie = (path, bytes) => (path.includes('/tile/') ? bytes.subarray(0, -1) : undefined);
    assert.equal(await refused(proxied(), { state }), 'TRUNCATED');
    proxy.lie = (path, bytes) => (path.includes('/tile/') ? Buffer.concat([bytes, bytes]) : undefined);
    assert.equal(await refused(proxied(), { state }), 'MALFORMED');
    assert.equal(keptIn(state), kept);
    proxy.lie = () => undefined;
    await verify(proxied(), { state });
    assert.notEqual(keptIn(state), kept);
  });

  it('is rolled back when an older checkpoint is shown again, though the log has signed that too', async () => {
    const state = newState();
    const older = await log.get(`log/t/${TENANT}/checkpoint`);
    await log.send(1);
    await verify(proxied(), { key: [key], state });
    const kept = keptIn(state);
    proxy.lie = (path) => (path.endsWith('/checkpoint') ? Buffer.from(older) : undefined);
    assert.equal(await refused(proxied(), { state }), 'ROLLBACK');
    assert.deepEqual([keptIn(state), keptIn(state, 'refused-checkpoint')], [kept, older]);
    // Where it cannot be put aside, the verdict is the same.
    const aside = join(state, readdirSync(state)[0]!, 'refused-checkpoint');
    rmSync(aside);
    mkdirSync(aside);
    assert.equal(await refused(proxied(), { state }), 'ROLLBACK');
    proxy.lie = () => undefined;
    await verify(proxied(), { state });
  });

  it('does not call a proof rolled back that is older than the checkpoint that was kept', async () => {
    const listed = async (path: string) =>
      JSON.parse(await log.get(path)) as { data: { streamId: string; eventId: string }[] };
    const { streamId } = (await listed('event-streams')).data[0]!;
    const list = await listed(`event-streams/${streamId}/events?limit=1`);
    const [proof, since, consistency] = ['proof.json', 'newer', 'between.json'].map((name) =>
      join(scratch, name),
    );
    const text = await log.get(`audit-events/${list.data[0]!.eventId}/proof`);
    const { treeSize } = JSON.parse(text) as { treeSize: number };
    const size = await log.send(3);
    writeFileSync(proof!, text);
    writeFileSync(since!, await log.get(`log/t/${TENANT}/checkpoint`));
    writeFileSync(consistency!, await log.get(`checkpoints/consistency?from=${treeSize}&to=${size}`));
    const verifyFile = (...more: string[]) =>
      place.run(['verify', proof!, '--key', key, '--since', since!, ...more]);
    const unproven = await verifyFile();
    assert.equal(unproven.code, 1);
    assert.match(
      unproven.stdout,
      /HISTORY_UNPROVEN\n +because .* that is no rollback, .*a consistency proof would\n/,
    );
    const proven = await verifyFile('--consistency', consistency!);
    assert.equal(proven.code, 0, proven.stdout + proven.stderr);
    assert.match(proven.stdout, new RegExp(`history +is the beginning of the checkpoint of size ${size}`));
  });

  it('reads nothing of its entries unless asked to, and never what the service says of consistency', async () => {
    const state = newState();
    await verify(proxied(), { key: [key], state });
    await log.send(1);
    proxy.asked.length = 0;
    await verify(proxied(), { state });
    assert.deepEqual(
      proxy.asked.filter((path) => !/\/log\/t\/acme\/(checkpoint|tile\/\d)/.test(path)),
      [],
    );
  });

  it('is asked for a quorum of witnesses before anything is kept', async () => {
    const state = newState();
    const witness = ['vectors/valid/witness.key'].map((file) =>
      join(import.meta.dirname, '../../../..', file),
    );
    assert.equal(await refused(log.address, { key: [key], state, witness }), 'WITNESS_MISSING');
    assert.equal(keptIn(state), undefined);
  });
});

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  const place = at < 0 ? copy.length + at : at % copy.length;
  copy[place] = copy[place]! ^ 0x01;
  return copy;
}

/** Over what is there, with the modes that the service insists on. */
function putBack(copy: string, data: string): void {
  for (const name of ['journal.db-wal', 'journal.db-shm']) rmSync(join(data, name), { force: true });
  cpSync(copy, data, { recursive: true, force: true });
  chmodSync(join(data, 'signing-keys'), 0o700);
}

describe('a service whose data was replaced by an older copy (P7)', () => {
  it('is noticed by a verifier that kept a checkpoint: rollback while it is smaller, fork once it is not', async () => {
    using place = emptyPlace();
    const state = newState();
    const copy = join(place.folder, 'copy');
    let key: string;
    {
      await using log = await startLog(place);
      await log.send(3);
      key = (await log.get(`log/t/${TENANT}/key`)).trim();
    }
    cpSync(place.data, copy, { recursive: true });
    {
      await using log = await startLog(place);
      await log.send(4);
      assert.equal((await verify(log.address, { key: [key], state })).checkpoint.size, 7);
    }
    const kept = keptIn(state);
    rmSync(join(copy, 'anchor'));
    putBack(copy, place.data);
    {
      // The anchor that is still there knows better: the service itself refuses the tenant.
      await using log = await startLog(place);
      await assert.rejects(verify(log.address, { key: [key], state }), /answers 503 .*refused/);
    }
    rmSync(join(place.data, 'anchor'));
    putBack(copy, place.data);
    assert.equal((await place.run(['recover', '--accept-lost-anchor', '--yes'])).code, 0);
    await using log = await startLog(place);
    assert.equal(await refused(log.address, { key: [key], state }), 'ROLLBACK');
    // With the notice of the lost anchor it is as long as what was kept.
    for (const [count, size] of [
      [3, 7],
      [300, 307],
    ] as const) {
      assert.equal(await log.send(count, 'Invent.Invoice'), size);
      assert.equal(await refused(log.address, { key: [key], state }), 'FORK');
      assert.equal(keptIn(state), kept, 'what was kept stays');
    }
    // Both checkpoints are signed by the log: with them anybody can be shown the fork.
    const verifiers = [await noteVerifier(key)];
    const origin = key.split('+')[0]!;
    const [then, now] = [kept!, keptIn(state, 'refused-checkpoint')!];
    for (const note of [then, now]) await openCheckpoint(note, { origin, verifiers });
    assert.notEqual(then, now);
  });

  it('goes on as another log after a recovery, which has to be vouched for anew', async () => {
    using place = emptyPlace();
    const state = newState();
    const copy = join(place.folder, 'copy');
    const keyOf = async (log: RunningLog) => (await log.get(`log/t/${TENANT}/key`)).trim();
    {
      await using log = await startLog(place);
      await log.send(3);
    }
    cpSync(place.data, copy, { recursive: true });
    {
      await using log = await startLog(place);
      await log.send(4);
      await verify(log.address, { key: [await keyOf(log)], state });
    }
    const kept = keptIn(state);
    rmSync(join(copy, 'anchor'));
    putBack(copy, place.data);
    const recovered = await place.run(['recover', '--new-epoch', '--yes']);
    assert.equal(recovered.code, 0, recovered.stderr);
    await using log = await startLog(place);
    await log.send(2);
    const key = await keyOf(log);
    const old = key.replace(/\/1\+.*$/, '');
    await assert.rejects(verify(log.address, { state }), /--key is missing/);
    const next = await verify(log.address, { key: [key], state, entries: true });
    assert.deepEqual([next['origin'], next['extends']], [`${old}/1`, null]);
    assert.equal((await verify(log.address, { state }))['keysFrom'], 'Kept');
    assert.ok(
      readdirSync(state).some((folder) => readFileSync(join(state, folder, 'checkpoint'), 'utf8') === kept),
    );
    for (const part of [[], ['--from', '1', '--to', '3']]) {
      const out = join(place.folder, `${part.length}.jsonl`);
      const { code, stdout, stderr } = await place.run(['bundle', '--tenant', TENANT, '--out', out, ...part]);
      assert.equal(code, 0, stderr);
      assert.ok(stdout.includes(`log        ${part.length === 0 ? `${old}/1` : old}\n`), stdout);
    }
  });
});
