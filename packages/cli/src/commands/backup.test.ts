// docs/operating/backup.md, step by step and by the real commands, on both backends: a copy is made, the service goes on, the
// copy is put back, and the log goes on from there, openly.

import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type PostgresServer, startPostgres } from '../../../server/src/testing/postgres-server.ts';
import type { Ended } from '../testing/command.ts';
import { emptyPlace, type Place } from '../testing/place.ts';
import { type LyingProxy, type RunningLog, startLog, startProxy } from '../testing/running-log.ts';

/** How events are copied and put back. */
interface Backend {
  /** Of the service, and of every command. */
  readonly env: () => Readonly<Record<string, string>>;
  /** Whether a copy is made while the service runs. */
  readonly copiesWhileServing: boolean;
  /** What a node has refused on PostgreSQL is refused for half a minute more: there nobody starts before the recovery. */
  readonly startsTooEarly: boolean;
  copy(): Promise<void>;
  putBack(): Promise<void>;
}

class Story {
  readonly place: Place;
  readonly backend: Backend;
  readonly proxy: LyingProxy;

  constructor(place: Place, backend: Backend, proxy: LyingProxy) {
    this.place = place;
    this.backend = backend;
    this.proxy = proxy;
  }

  start(): Promise<RunningLog> {
    const { env, ...place } = this.place;
    return startLog({ ...place, env: { ...env, ...this.backend.env() } });
  }

  run(...words: string[]): Promise<Ended> {
    return this.place.run(words, this.backend.env());
  }

  /** Sends so many events, in a service of its own. */
  async serve(count: number, meanwhile: (log: RunningLog) => Promise<void> = async () => {}): Promise<void> {
    await using log = await this.start();
    await log.send(count);
    await meanwhile(log);
  }
}

/** A verifier outside keeps in a directory what it has seen of the log. */
async function audited(auditor: string, story: Story, log: RunningLog): Promise<Ended> {
  // Before all services that come after one another there is one address.
  story.proxy.target = log.url;
  const address = `${story.proxy.url}/api/v1/log/t/acme`;
  const state = join(story.place.folder, auditor);
  const key = join(story.place.folder, `${auditor}.key`);
  // Somebody has asked the operator for it, also for that of the new name.
  writeFileSync(key, await log.get('log/t/acme/key'));
  return story.place.run(['verify', address, '--state', state, '--key', key], {
    TALLYSTICK_API_KEY: 'the-platform-key-of-these-tests',
  });
}

async function tell(place: Place, backend: Backend): Promise<void> {
  await using proxy = await startProxy('');
  const story = new Story(place, backend, proxy);
  await story.serve(10, async (log) => {
    if (backend.copiesWhileServing) await backend.copy();
    const first = await audited('early', story, log);
    assert.equal(first.code, 0, first.stdout + first.stderr);
  });
  if (!backend.copiesWhileServing) await backend.copy();
  await story.serve(5, async (log) => {
    const late = await audited('late', story, log);
    assert.equal(late.code, 0, late.stdout + late.stderr);
  });
  const whole = await story.run('verify', place.data);
  assert.equal(whole.code, 0, whole.stdout + whole.stderr);

  await backend.putBack();
  const behind = await story.run('verify', place.data);
  assert.equal(behind.code, 1, behind.stderr);
  assert.match(
    behind.stdout,
    /fault +acme: ROLLBACK at index 10\n {2}because .* anchored with 15 entries and has 10\n/,
  );
  if (backend.startsTooEarly) await assert.rejects(story.serve(1), /answers 503: .*SERVICE_UNAVAILABLE/);

  const shown = await story.run('recover');
  assert.match(shown.stdout, /lost +sequences 11 to 15, unless a newer copy has them/);
  const begun = await story.run('recover', '--new-epoch', '--yes');
  assert.equal(begun.code, 0, begun.stderr);
  assert.match(begun.stdout, /acme goes on as \S+\/t\/acme\/1, from sequence 11 on/);
  const unsigned = await story.run('verify', place.data);
  assert.equal(unsigned.code, 1);
  assert.match(unsigned.stdout, /fault +acme: HISTORY_UNPROVEN/);

  await story.serve(3, async (log) => {
    const verified = await story.run('verify', place.data);
    assert.equal(verified.code, 0, verified.stdout + verified.stderr);
    assert.match(verified.stdout, /\/t\/acme: 10 entries\n {2}log +\S+\/t\/acme\/1: 4 entries\n/);
    // Who has the last checkpoint sees that the new log names it; to others nothing shows what was between.
    const late = await audited('late', story, log);
    assert.equal(late.code, 0, late.stdout + late.stderr);
    assert.match(late.stdout, /\/t\/acme\/1/);
    const early = await audited('early', story, log);
    assert.equal(early.code, 1, early.stdout + early.stderr);
    assert.match(
      early.stdout,
      /HISTORY_UNPROVEN\n.*was signed with 15 entries when it ended; what was kept has 10/,
    );
  });
}

describe('a backup that is put back', () => {
  let server: PostgresServer;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server?.[Symbol.asyncDispose]());

  it('of a data directory goes on as the documentation says', async () => {
    using place = emptyPlace();
    const copy = join(place.folder, 'copy.db');
    await tell(place, {
      env: () => ({}),
      copiesWhileServing: true,
      startsTooEarly: true,
      async copy() {
        const { code, stdout, stderr } = await place.run(['backup', copy]);
        assert.deepEqual([code, stderr], [0, '']);
        assert.match(stdout, /^wrote {2}.*copy\.db \(\d+\.\d MB\)\n/);
        assert.equal(statSync(copy).mode & 0o777, 0o600);
        const again = await place.run(['backup', copy]);
        assert.deepEqual([again.code, again.stderr.includes('is there already')], [2, true]);
        const nowhere = await place.run(['backup', join(place.folder, 'nowhere/x.db')]);
        assert.deepEqual(
          [nowhere.code, nowhere.stderr],
          [2, `tallystick: the directory ${join(place.folder, 'nowhere')} does not exist\n`],
        );
        const below = await place.run(['backup', join(copy, 'x.db')]);
        assert.deepEqual([below.code, below.stderr], [2, `tallystick: ${copy} is no directory\n`]);
      },
      async putBack() {
        for (const name of [
          'journal.db',
          'journal.db-wal',
          'journal.db-shm',
          'views.db',
          'views.db-wal',
          'views.db-shm',
        ])
          rmSync(join(place.data, name), { force: true });
        copyFileSync(copy, join(place.data, 'journal.db'));
      },
    });
  });

  it('of a database goes on as the documentation says', async () => {
    using place = emptyPlace();
    let url = await server.createDatabase();
    let copy = '';
    await tell(place, {
      env: () => ({ Storage__Url: url, Environment: 'Test' }),
      // As pg_dump would, which needs no stop.
      copiesWhileServing: false,
      startsTooEarly: false,
      async copy() {
        copy = await server.createDatabase(url);
      },
      async putBack() {
        url = copy;
      },
    });
  });

  it('of a database is made by its own means', async () => {
    using place = emptyPlace();
    const { code, stderr } = await place.run(['backup', 'copy.db'], { Storage__Url: server.url() });
    assert.equal(code, 2);
    assert.match(stderr, /^tallystick: Storage__Url is set: a database is copied by its own means, pg_dump/);
    const doc = readFileSync(join(import.meta.dirname, '../../../../docs/operating/backup.md'), 'utf8');
    for (const words of ['tallystick backup', 'tallystick recover --new-epoch', 'pg_dump', 'BYPASSRLS'])
      assert.ok(doc.includes(words), words);
  });
});
