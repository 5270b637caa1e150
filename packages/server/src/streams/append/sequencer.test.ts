import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError } from '@tallystick/contract';
import { createFakeClock } from '../../testing/fake-clock.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import { createTelemetry } from '../../telemetry.ts';
import type { AppendFault, AppendRequest, AppendResult, Draft, LogWriter } from '../log.ts';
import { logCheck, startLogWatch } from './log-watch.ts';
import { createSequencer, type SequencerOptions } from './sequencer.ts';

const draft = (length = 10): Draft => ({
  kind: 1,
  eventId: '01KE0000000000000000000042',
  texts: [new Uint8Array(length), new Uint8Array(0)],
  classification: 'Internal',
  retention: undefined,
});
const request = (drafts = 1, length = 10): AppendRequest => ({
  tenant: 'acme',
  drafts: Array.from({ length: drafts }, () => draft(length)),
  atomic: false,
});

/** A log whose commits end on the test's command: the test is about order, not about a store. */
function heldLog() {
  const pools: {
    size: number;
    finish: (fault?: AppendFault) => void;
    fail: (error: Error) => void;
    /** All requests but these wait for a log that another node holds. */
    hold: (...decided: number[]) => void;
  }[] = [];
  let probe: () => Promise<void> = async () => {};
  const writer: Pick<LogWriter, 'append' | 'probe'> = {
    append: (requests, _now, onLocked) =>
      new Promise((resolve, reject) => {
        const done: AppendResult = { status: 'Done', outcomes: [] };
        const finish = (fault?: AppendFault) =>
          resolve(requests.map((_, i) => (i === 0 && fault ? fault : done)));
        const hold = (...places: number[]) => onLocked?.(new Map(places.map((place) => [place, done])));
        pools.push({ size: requests.length, finish, fail: reject, hold });
      }),
    probe: () => probe(),
  };
  return { pools, writer, setProbe: (next: () => Promise<void>) => (probe = next) };
}

function build(more: Partial<SequencerOptions> = {}) {
  const clock = createFakeClock(1000);
  const log = heldLog();
  const sequencer = createSequencer({ writer: log.writer, clock, steadyNowMs: () => 7, ...more });
  return { clock, sequencer, ...log };
}
const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
const codeOf = (error: unknown) => (error instanceof AuditError ? error.code : String(error));

/** Checkpoints are not under test here. */
const sound = { figures: () => ({ refusedTenants: 0, failure: undefined }) };

test('requests for logs that another node holds delay no others, and are answered in the end', async () => {
  const { sequencer, pools } = build();
  const answered: string[] = [];
  const send = (name: string, tenant = 'acme') =>
    sequencer.append({ ...request(), tenant }).then(
      () => answered.push(name),
      () => answered.push(`${name} fails`),
    );
  const first = ['a', 'b', 'c'].map((name) => send(name));
  await turn();
  pools[0]!.hold(0, 2);
  await turn();
  assert.deepEqual(answered, ['a', 'c']);
  assert.deepEqual(sequencer.figures(), {
    waitingDrafts: 1,
    commitMs: 0,
    pressedMsAgo: Infinity,
    failure: undefined,
  });
  // The next pool does not wait for it; more requests for that log wait here.
  const more = ['d', 'e'].map((name) => send(name, 'globex'));
  const same = send('f');
  await turn();
  assert.deepEqual(
    pools.map(({ size }) => size),
    [3, 2],
  );
  pools[1]!.finish();
  await Promise.all(more);
  assert.deepEqual(answered, ['a', 'c', 'd', 'e']);
  const stopped = sequencer[Symbol.asyncDispose]().then(() => answered.push('stopped'));
  await turn();
  pools[0]!.fail(new Error('gone'));
  await turn();
  pools[2]!.finish();
  await Promise.all([...first, same, stopped]);
  assert.deepEqual(answered, ['a', 'c', 'd', 'e', 'b fails', 'f', 'stopped']);
});

test('requests that arrive during a commit form the next pool', async () => {
  const { sequencer, pools } = build();
  const first = [sequencer.append(request()), sequencer.append(request())];
  await turn();
  assert.deepEqual(
    pools.map(({ size }) => size),
    [2],
    'requests of one turn share a pool',
  );
  const second = [1, 2, 3].map(() => sequencer.append(request()));
  await turn();
  assert.equal(pools.length, 1, 'one pool at a time');
  pools[0]!.finish();
  await Promise.all(first);
  await turn();
  assert.deepEqual(
    pools.map(({ size }) => size),
    [2, 3],
  );
  assert.equal(sequencer.figures().waitingDrafts, 3);
  pools[1]!.finish();
  await Promise.all(second);
  assert.equal(sequencer.figures().waitingDrafts, 0);
});

test('a full pool is handed over while another is committed, but no third one', async () => {
  const { sequencer, pools, clock } = build({ limits: { poolDraftsMin: 4, poolDraftsMax: 5 } });
  const sizes = () => pools.map(({ size }) => size);
  const all = [sequencer.append(request(1))];
  await turn();
  all.push(sequencer.append(request(3)));
  await turn();
  assert.deepEqual(sizes(), [1], 'three are too few');
  all.push(sequencer.append(request(1)));
  assert.deepEqual(sizes(), [1, 2], 'at once, before other requests of this turn');
  await clock.advance(5);
  all.push(sequencer.append(request(5)), sequencer.append(request(2)));
  await turn();
  assert.deepEqual(sizes(), [1, 2], 'two are under way');
  assert.equal(sequencer.figures().commitMs, 5, 'of the oldest one');
  assert.equal(sequencer.figures().pressedMsAgo, 5, 'since a second one was full beside it');
  pools[0]!.finish();
  await turn();
  assert.deepEqual(sizes(), [1, 2, 1]);
  pools[1]!.finish();
  await turn();
  assert.deepEqual(sizes(), [1, 2, 1], 'two are too few');
  pools[2]!.finish();
  await turn();
  assert.deepEqual(sizes(), [1, 2, 1, 1]);
  pools[3]!.finish();
  await Promise.all(all);
  assert.equal(sequencer.figures().waitingDrafts, 0);
});

test('of two pools under way, one that fails does not take the other with it', async () => {
  const { sequencer, pools } = build();
  const first = sequencer.append(request());
  await turn();
  const second = sequencer.append(request());
  await turn();
  const stopped = sequencer[Symbol.asyncDispose]();
  pools[0]!.fail(new Error('disk I/O error'));
  await assert.rejects(first, (error) => codeOf(error) === 'SERVICE_UNAVAILABLE');
  pools[1]!.finish();
  assert.equal((await second).status, 'Done');
  assert.equal(sequencer.figures().failure, undefined);
  await stopped;
});

test('a pool is bounded by drafts and by bytes, and a larger request goes alone', async () => {
  const { sequencer, pools } = build({ limits: { poolDraftsMax: 5, poolBytesMax: 1000 } });
  const all = [request(3), request(3), request(2), request(9), request(1, 900), request(1, 200)].map((one) =>
    sequencer.append(one),
  );
  for (let i = 0; i < 5; i++) {
    await turn();
    pools[i]!.finish();
  }
  await Promise.all(all);
  assert.deepEqual(
    pools.map(({ size }) => size),
    [1, 2, 1, 1, 1],
  );
});

test('a tenant that sends too much does not use up the room of others', async () => {
  const { sequencer, pools } = build({ limits: { waitingDraftsMax: 100 } });
  const of = (tenant: string, drafts: number) => sequencer.append({ ...request(drafts), tenant });
  const taken = [of('noisy', 50)];
  await assert.rejects(of('noisy', 1), /Too many events of this tenant wait to be stored\./);
  taken.push(of('quiet', 25), of('other', 10));
  await assert.rejects(of('quiet', 1), /Too many events of this tenant/);
  taken.push(of('other', 15));
  await assert.rejects(of('third', 1), /Too many events wait to be stored\./);
  for (let i = 0; i < taken.length && sequencer.figures().waitingDrafts > 0; i++) {
    await turn();
    pools[i]?.finish();
  }
  await Promise.all(taken);
  const again = of('noisy', 50);
  await turn();
  pools.at(-1)!.finish();
  await again;
});

test('a refused log rejects requests and says why', async () => {
  const refusalOf = (tenant: string) => (tenant === 'acme' ? 'it is behind.' : undefined);
  const { sequencer, pools } = build({ refusalOf });
  await assert.rejects(sequencer.append(request()), (error) => {
    assert.equal(codeOf(error), 'SERVICE_UNAVAILABLE');
    assert.match(String(error), /The log of acme is refused: it is behind\./);
    return true;
  });
  const other = sequencer.append({ ...request(), tenant: 'other' });
  await turn();
  pools[0]!.finish();
  assert.equal((await other).status, 'Done');
});

test('requests beyond the limits are rejected', async () => {
  const { sequencer, pools } = build({ limits: { waitingDraftsMax: 4, waitingBytesMax: 1000 } });
  const taken = [sequencer.append(request(3))];
  await assert.rejects(sequencer.append(request(2)), (error) => {
    assert.equal(codeOf(error), 'SERVICE_UNAVAILABLE');
    assert.match(String(error), /Too many events wait to be stored\./);
    return true;
  });
  await assert.rejects(sequencer.append(request(1, 2000)), /Too many events wait to be stored\./);
  taken.push(sequencer.append({ ...request(1), tenant: 'other' }));
  await turn();
  pools[0]!.finish();
  await Promise.all(taken);
  const later = sequencer.append(request(4));
  await turn();
  pools[1]!.finish();
  await later;
});

test('when a pool fails, all of its requests are told, and the next pool is tried', async () => {
  const failures: unknown[] = [];
  const { sequencer, pools, clock } = build({ onFailure: (error) => failures.push(error) });
  const first = [sequencer.append(request()), sequencer.append(request())];
  await turn();
  const next = sequencer.append(request());
  const cause = new Error('disk I/O error');
  pools[0]!.fail(cause);
  for (const { status, reason } of (await Promise.allSettled(first)) as PromiseRejectedResult[]) {
    assert.equal(status, 'rejected');
    assert.equal(codeOf(reason), 'SERVICE_UNAVAILABLE');
    assert.equal((reason as Error).cause, cause);
    assert.doesNotMatch((reason as Error).message, /disk/);
  }
  assert.deepEqual(failures, [cause]);
  assert.deepEqual(sequencer.figures(), {
    waitingDrafts: 1,
    commitMs: 0,
    pressedMsAgo: Infinity,
    failure: { atMs: clock.now(), error: cause },
  });
  await assert.rejects(logCheck({ sequencer, checkpointer: sound }).run(), cause);
  await turn();
  pools[1]!.finish();
  assert.equal((await next).status, 'Done');
  assert.equal(sequencer.figures().failure, undefined);
  assert.equal((await logCheck({ sequencer, checkpointer: sound }).run()).status, 'Healthy');
});

test('a fault of one request is its own', async () => {
  const { sequencer, pools } = build();
  const [bad, good] = [sequencer.append(request()), sequencer.append(request())];
  await turn();
  pools[0]!.finish({ status: 'Faulty', error: new Error('there is no tenant acme') });
  await assert.rejects(bad, /there is no tenant acme/);
  assert.equal((await good).status, 'Done');
  assert.equal(sequencer.figures().failure, undefined);
});

test('a commit that does not end makes the log Unhealthy, until it ends', async () => {
  const { sequencer, pools, clock } = build();
  const waiting = sequencer.append(request());
  await turn();
  await clock.advance(9000);
  const healthy = await logCheck({ sequencer, checkpointer: sound }).run();
  assert.equal(healthy.status, 'Healthy');
  // The report is public, so it does not show how much others send.
  assert.doesNotMatch(healthy.description ?? '', /\d/);
  await clock.advance(2000);
  const { status, description } = await logCheck({ sequencer, checkpointer: sound }).run();
  assert.deepEqual([status, description], ['Unhealthy', 'A commit has taken over 10 s so far.']);
  pools[0]!.finish();
  await waiting;
  assert.equal((await logCheck({ sequencer, checkpointer: sound }).run()).status, 'Healthy');
});

test('stopping accepts no more requests and waits for those under way', async () => {
  const { sequencer, pools } = build({ limits: { poolDraftsMax: 1 } });
  const taken = [sequencer.append(request()), sequencer.append(request())];
  const stopped = sequencer[Symbol.asyncDispose]();
  await assert.rejects(sequencer.append(request()), /stopping/);
  for (let i = 0; i < 2; i++) {
    await turn();
    pools[i]!.finish();
  }
  await stopped;
  await Promise.all(taken);
});

test('after a failure the log is probed, ever more seldom, until a commit succeeds', async () => {
  const { sequencer, pools, clock, setProbe } = build();
  const probes: number[] = [];
  const telemetry = createTelemetry({ clock, level: 'Error', form: 'json', secrets: [], write: () => true });
  const random = { ...createSystemRandom(), fraction: () => 0.5 };
  await using _ = startLogWatch({ sequencer, clock, random, telemetry });
  await clock.advance(10_000);
  const failed = assert.rejects(sequencer.append(request()));
  await turn();
  pools[0]!.fail(new Error('full'));
  await failed;
  setProbe(async () => {
    probes.push(clock.now());
    if (probes.length < 4) throw new Error('still full');
  });
  await clock.advance(20_000);
  assert.deepEqual(
    probes.map((atMs) => atMs - probes[0]!),
    [0, 500, 1500, 3500],
  );
  assert.equal(sequencer.figures().failure, undefined);
});
