// A log that goes on under a new name after a restore, as somebody sees it who kept a checkpoint of the one before: the
// real service and the real recovery, with data and anchor put back by honest and by dishonest hands.

import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import { EvidenceError } from '@tallystick/evidence';
import { callTool } from '../../../server/src/testing/mcp-caller.ts';
import { emptyPlace, type Place } from '../testing/place.ts';
import { ADMIN_KEY, type RunningLog, startLog, startProxy, TENANT } from '../testing/running-log.ts';
import { type LogOptions, verifyLogAt } from './verify-log.ts';

const scratch = mkdtempSync(join(tmpdir(), 'tallystick-new-epoch-'));
after(() => rmSync(scratch, { recursive: true }));

/** A service whose data can be put back, at one address for all its lives, and somebody who keeps its checkpoints. */
async function watchedPlace() {
  const place = emptyPlace();
  const proxy = await startProxy('http://127.0.0.1:9');
  const state = mkdtempSync(join(scratch, 'state-'));
  const address = `${proxy.url}/api/v1/log/t/${TENANT}`;
  return {
    ...place,
    place,
    proxy,
    state,
    address,
    /** One life of the service. */
    async live<T>(work: (log: RunningLog) => Promise<T>): Promise<T> {
      await using log = await startLog(place);
      proxy.target = log.url;
      return await work(log);
    },
    /** A copy of the data, taken by the database itself while the service runs, and of the anchor. */
    async save(name: string): Promise<void> {
      using db = new DatabaseSync(join(place.data, 'journal.db'), { readOnly: true });
      await backup(db, join(place.folder, `${name}-journal.db`));
      cpSync(join(place.data, 'anchor'), join(place.folder, `${name}-anchor`));
    },
    /** Puts back what was saved under that name: the data, the anchor, or both. */
    putBack(name: string, ...what: ('journal.db' | 'anchor')[]): void {
      for (const tail of ['-wal', '-shm']) rmSync(join(place.data, `journal.db${tail}`), { force: true });
      for (const file of what) cpSync(join(place.folder, `${name}-${file}`), join(place.data, file));
    },
    verify: (options: LogOptions) => verifyLogAt(address, { apiKey: ADMIN_KEY, state, ...options }),
    async refused(options: LogOptions): Promise<string> {
      try {
        await verifyLogAt(address, { apiKey: ADMIN_KEY, state, ...options });
      } catch (error) {
        assert.ok(error instanceof EvidenceError, String(error));
        return `${error.reason}: ${error.message}`;
      }
      return 'verified';
    },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      place[Symbol.dispose]();
    },
  };
}

const keyOf = async (log: RunningLog) => (await log.get(`log/t/${TENANT}/key`)).trim();

async function recover(place: Place): Promise<void> {
  const { code, stderr } = await place.run(['recover', '--new-epoch', '--yes']);
  assert.equal(code, 0, stderr);
}

const notesIn = (state: string, file: string) =>
  readdirSync(state)
    .map((folder) => join(state, folder, file))
    .filter(existsSync)
    .map((path) => readFileSync(path, 'utf8'));

describe('a log that goes on under a new name', { concurrency: 2 }, () => {
  it('shows the events of both, one by one and in a list, and tells models that they verify', async () => {
    await using watch = await watchedPlace();
    await watch.live(async (log) => {
      await log.send(3);
      await watch.save('at3');
      await log.send(2);
    });
    watch.putBack('at3', 'journal.db');
    await recover(watch.place);
    await watch.live(async (log) => {
      const size = await log.send(2);
      assert.equal(size, 3, 'a notice comes first in the new one');
      let data: { eventId: string }[] = [];
      for (let tries = 0; tries < 1000 && data.length < 5; tries++) {
        data = (JSON.parse(await log.get('audit-events?sort=timestamp')) as { data: typeof data }).data;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      assert.equal(data.length, 5);
      for (const listed of data) {
        const { eventId } = listed;
        assert.deepEqual(JSON.parse(await log.get(`audit-events/${eventId}`)), listed);
        const sender = { key: ADMIN_KEY, tenant: TENANT };
        const { structuredContent } = await callTool(log, 'events_verify', { eventId }, sender);
        assert.equal(structuredContent['verified'], true, JSON.stringify(structuredContent));
      }
    });
  });

  it('is verified where its first entry names the checkpoint that was kept, and says what is lost', async () => {
    await using watch = await watchedPlace();
    const old = await watch.live(async (log) => {
      await log.send(3);
      await watch.save('at3');
      await log.send(4);
      const key = await keyOf(log);
      await watch.verify({ key: [key] });
      return key;
    });
    const kept = notesIn(watch.state, 'checkpoint');
    watch.putBack('at3', 'journal.db');
    await recover(watch.place);
    await watch.live(async (log) => {
      await log.send(2);
      const key = await keyOf(log);
      assert.equal(key.split('+')[0], `${old.split('+')[0]}/1`);
      // Nobody has vouched for the new name: it is compared, and not taken up.
      const unasked = await watch.refused({});
      assert.match(unasked, /^ORIGIN_MISMATCH: .*acme\/1.*goes on from .*acme, .*size 7.*--key/);
      assert.deepEqual(notesIn(watch.state, 'checkpoint'), kept);
      // Every statement about the beginning is compared with the tree.
      watch.proxy.lie = (path, bytes) =>
        path.endsWith('/proof')
          ? Buffer.from(bytes.toString().replace(/(anchoredSize","[^"]+",)"7"/, '$1"8"'))
          : undefined;
      assert.match(await watch.refused({ key: [key] }), /^LEAF_MISMATCH/);
      watch.proxy.lie = (path, bytes) =>
        path.includes('/tile/entries/') ? Buffer.from(bytes).fill(9, 60, 70) : undefined;
      assert.match(await watch.refused({ key: [key] }), /^LEAF_MISMATCH/);
      watch.proxy.lie = () => undefined;
      const { json, text } = await watch.verify({ key: [key], entries: true });
      const [former] = json['formerLogs'] as Record<string, unknown>[];
      assert.deepEqual(former, {
        origin: old.split('+')[0],
        size: 7,
        proven: true,
        anchoredSize: 7,
        restoredSize: 3,
      });
      assert.match(text, /before +goes on from \S+acme, kept at size 7.*\n/);
      assert.match(text, /left 3 of its 7 entries; 4 of those that were seen are lost\n/);
      const again = await watch.verify({});
      assert.deepEqual([again.json['keysFrom'], again.json['formerLogs']], ['Kept', []]);
    });
    assert.ok(notesIn(watch.state, 'checkpoint').includes(kept[0]!), 'what was kept of the old log stays');
  });

  it('is not proven where the log before had grown since, unless a consistency proof leads there', async () => {
    await using watch = await watchedPlace();
    const consistency = join(scratch, 'consistency.json');
    await watch.live(async (log) => {
      await log.send(3);
      const key = await keyOf(log);
      await watch.verify({ key: [key] });
      await watch.save('at3');
      await log.send(4);
      writeFileSync(consistency, await log.get('checkpoints/consistency?from=3&to=7'));
    });
    watch.putBack('at3', 'journal.db');
    await recover(watch.place);
    await watch.live(async (log) => {
      await log.send(1);
      const key = await keyOf(log);
      const unproven = await watch.refused({ key: [key] });
      assert.match(unproven, /^HISTORY_UNPROVEN: .*acme was signed with 7 entries.*kept.* 3.*--consistency/);
      assert.match(await watch.refused({}), /^HISTORY_UNPROVEN/);
      assert.deepEqual(notesIn(watch.state, 'refused-checkpoint'), [], 'it is no rollback and no fork');
      const wrong = join(scratch, 'wrong.json');
      const hashes = (JSON.parse(readFileSync(consistency, 'utf8')) as { hashes: string[] }).hashes;
      writeFileSync(wrong, JSON.stringify({ hashes: hashes.toReversed() }));
      assert.match(await watch.refused({ key: [key], consistency: wrong }), /^ROOT_MISMATCH/);
      const { json } = await watch.verify({ key: [key], consistency });
      const [former] = json['formerLogs'] as Record<string, unknown>[];
      assert.deepEqual([former!['proven'], former!['size'], former!['anchoredSize']], [true, 3, 7]);
      await assert.rejects(
        watch.verify({ consistency }),
        /--consistency is for a log that goes on under a new name, and is new here/,
      );
    });
  });

  it('is a rollback where it names less than was kept, and goes on only when that is accepted', async () => {
    await using watch = await watchedPlace();
    await watch.live(async (log) => {
      await log.send(3);
      await watch.save('at3');
      await log.send(2);
      await watch.save('at5');
      await log.send(2);
      const key = await keyOf(log);
      await watch.verify({ key: [key] });
    });
    // Somebody who has the anchor, too, can hide how much was signed.
    watch.putBack('at3', 'journal.db');
    watch.putBack('at5', 'anchor');
    await recover(watch.place);
    await watch.live(async (log) => {
      const size = await log.send(300);
      const key = await keyOf(log);
      const kept = notesIn(watch.state, 'checkpoint');
      const refused = await watch.refused({ key: [key] });
      assert.match(refused, /^ROLLBACK: \S+acme\/1 says that \S+acme was signed with 5 entries.* 7/);
      assert.match(await watch.refused({}), /^ROLLBACK/);
      assert.deepEqual(notesIn(watch.state, 'checkpoint'), kept);
      assert.equal(notesIn(watch.state, 'refused-checkpoint').length, 1);
      assert.match(notesIn(watch.state, 'refused-proof')[0]!, /anchoredSize/);
      // A verifier that kept nothing here, but has a checkpoint of the old log from a witness, sees the same.
      const since = join(scratch, 'since');
      writeFileSync(since, kept[0]!);
      const state = mkdtempSync(join(scratch, 'state-'));
      assert.match(await watch.refused({ key: [key], since, state }), /^ROLLBACK/);
      const { json, text } = await watch.verify({ acceptNewEpoch: true });
      assert.equal((json['checkpoint'] as { size: number }).size, size);
      const [former] = json['formerLogs'] as Record<string, unknown>[];
      assert.deepEqual([former!['proven'], former!['reason']], [false, 'ROLLBACK']);
      assert.match(text, /before +NOT PROVEN, and accepted by --accept-new-epoch: ROLLBACK, /);
      assert.deepEqual((await watch.verify({})).json['formerLogs'], [], 'once is enough');
    });
  });

  it('is a fork where it names another root for the size that was kept', async () => {
    await using watch = await watchedPlace();
    await watch.live(async (log) => {
      await log.send(3);
      await watch.save('at3');
      await log.send(4);
      const key = await keyOf(log);
      await watch.verify({ key: [key] });
    });
    watch.putBack('at3', 'journal.db', 'anchor');
    await watch.live((log) => log.send(4, 'Invent.Invoice'));
    watch.putBack('at3', 'journal.db');
    await recover(watch.place);
    await watch.live(async (log) => {
      await log.send(1);
      const key = await keyOf(log);
      assert.match(await watch.refused({ key: [key] }), /^FORK: \S+acme\/1 .*another root.* size 7/);
    });
  });

  it('is compared with what stood at its address, also where it is another log altogether', async () => {
    await using watch = await watchedPlace();
    await watch.live(async (log) => {
      await log.send(3);
      const key = await keyOf(log);
      await watch.verify({ key: [key] });
    });
    await using other = await watchedPlace();
    await other.live(async (log) => {
      await log.send(5);
      const key = await keyOf(log);
      watch.proxy.target = log.url;
      const refused = await watch.refused({ key: [key] });
      assert.match(refused, /^FORK: .*names no log before it.* kept with 3 entries/);
      await watch.verify({ key: [key], acceptNewEpoch: true });
    });
  });

  it('is not proven across an epoch of which nothing was kept, and is where that one was kept', async () => {
    await using watch = await watchedPlace();
    const other = mkdtempSync(join(scratch, 'state-'));
    await watch.live(async (log) => {
      await log.send(3);
      await watch.save('at3');
      await log.send(1);
      await watch.verify({ key: [await keyOf(log)] });
    });
    watch.putBack('at3', 'journal.db');
    await recover(watch.place);
    await watch.live(async (log) => {
      await log.send(2);
      const key = await keyOf(log);
      await watch.verify({ key: [key], state: other });
    });
    watch.putBack('at3', 'journal.db');
    await recover(watch.place);
    await watch.live(async (log) => {
      await log.send(1);
      const key = await keyOf(log);
      assert.match(
        await watch.refused({ key: [key] }),
        /^HISTORY_UNPROVEN: \S+acme\/2 goes on from \S+acme\/1, of which nothing was kept.*acme was kept with 4/,
      );
      const { json } = await watch.verify({ key: [key], state: other });
      const [former] = json['formerLogs'] as Record<string, unknown>[];
      assert.deepEqual([former!['proven'], former!['size'], former!['restoredSize']], [true, 3, 0]);
    });
  });

  it('is held to the key of the log before, where a first key would be believed', async () => {
    await using watch = await watchedPlace();
    await watch.live(async (log) => {
      await log.send(3);
      await watch.save('at3');
      await log.send(1);
      const key = await keyOf(log);
      await watch.verify({ key: [key] });
    });
    watch.putBack('at3', 'journal.db');
    await recover(watch.place);
    await watch.live(async (log) => {
      await log.send(1);
      // At another address.
      const { json } = await verifyLogAt(log.address, {
        apiKey: ADMIN_KEY,
        state: watch.state,
        pinFirstKey: true,
      });
      assert.equal(json['keysFrom'], 'Kept');
      assert.equal((json['formerLogs'] as { proven: boolean }[])[0]!.proven, true);
    });
  });
});
