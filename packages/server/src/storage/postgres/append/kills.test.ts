// Acknowledged events survive kills of the database at any moment, once, and in one history (P1, short form).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogWriter } from '../../../streams/log.ts';
import { prepareLogs, raw, requireOneHistory, startLogNode } from '../../../testing/postgres-nodes.ts';
import { type PostgresServer, startPostgres } from '../../../testing/postgres-server.ts';
import { draftOf, now, placedIn, request } from '../../conformance/claims.ts';

const TENANTS = ['acme', 'beta'];
const ROUNDS = 3;
/** Enough for slow machines. */
const PATIENCE_MS = 120_000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Sends from two nodes, and records acknowledgements. */
class Senders implements AsyncDisposable {
  readonly acknowledged = new Map(TENANTS.map((tenant) => [tenant, new Set<string>()]));
  failures = 0;
  #isOver = false;
  readonly #sending: Promise<void>[];

  constructor(logs: readonly LogWriter[]) {
    this.#sending = logs.map((log) => this.#send(log));
  }

  get count(): number {
    return this.acknowledged.get('acme')!.size;
  }

  async #send(log: LogWriter): Promise<void> {
    while (!this.#isOver) {
      const pool = TENANTS.map((tenant) => request(tenant, [draftOf(), draftOf()]));
      try {
        const results = await log.append(pool, now(Date.now()));
        for (const [i, result] of results.entries())
          for (const { eventId } of placedIn(result)) this.acknowledged.get(pool[i]!.tenant)!.add(eventId);
      } catch {
        this.failures += 1;
        await pause(20);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#sending);
  }
}

/** Waits for this number of further acknowledgements. */
async function until(senders: Senders, count: number): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (senders.count < count) {
    assert.ok(Date.now() < deadline, `${senders.count} of ${count} acknowledged`);
    await pause(10);
  }
}

/** The number of acknowledged events that are missing. */
async function lostIn(url: string, { acknowledged }: Senders): Promise<number> {
  let lost = 0;
  for (const tenant of TENANTS) {
    const there = await requireOneHistory(url, tenant);
    assert.equal(new Set(there).size, there.length, 'each is there once');
    lost += acknowledged.get(tenant)!.difference(new Set(there)).size;
  }
  return lost;
}

async function logsOn(
  server: PostgresServer,
): Promise<{ url: string; nodes: AsyncDisposableStack; logs: LogWriter[] }> {
  const url = await server.createDatabase();
  await prepareLogs(url, TENANTS);
  await raw(url, 'CHECKPOINT');
  const nodes = new AsyncDisposableStack();
  return { url, nodes, logs: [1, 2].map(() => nodes.use(startLogNode(url)).log) };
}

test(`nothing acknowledged is lost by ${ROUNDS} kills of the database, and nodes continue by themselves`, async () => {
  await using server = await startPostgres();
  const { url, nodes, logs } = await logsOn(server);
  await using _ = nodes;
  for (let round = 0; round < ROUNDS; round++) {
    await using senders = new Senders(logs);
    await until(senders, 4);
    await pause(100 * Math.random());
    await server.kill();
    await server.start();
    await until(senders, senders.count + 4);
    await senders[Symbol.asyncDispose]();
    assert.ok(senders.failures > 0, 'the kill was noticed');
    assert.equal(await lostIn(url, senders), 0);
  }
});

/** Turns off, within each transaction, that its commit waits for the disk. */
const FORGETFUL = `
  CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM set_config('synchronous_commit', 'off', true); RETURN NULL; END $$;
  CREATE TRIGGER forgetful AFTER UPDATE ON heads EXECUTE FUNCTION forget()`;

test('control: where a commit does not wait for the disk, a kill loses acknowledged events, and this test finds it', async () => {
  await using server = await startPostgres({ autovacuum: 'off' });
  const { url, nodes, logs } = await logsOn(server);
  await using _ = nodes;
  await raw(url, FORGETFUL);
  // Only the WAL writer flushes commits that do not wait.
  const [writer] = await raw(url, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'");
  process.kill(Number(writer!['pid']), 'SIGSTOP');
  await using senders = new Senders(logs);
  await until(senders, 20);
  const known = new Map([...senders.acknowledged].map(([tenant, ids]) => [tenant, new Set(ids)]));
  await server.kill();
  await server.start();
  await senders[Symbol.asyncDispose]();
  assert.ok((await lostIn(url, Object.assign(senders, { acknowledged: known }))) > 0);
});
