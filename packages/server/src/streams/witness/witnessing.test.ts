import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  cosigner,
  EMPTY_ROOT,
  formatCheckpoint,
  isQuorum,
  parsePolicy,
  sha256,
  signatureLine,
  withSignatures,
} from '@tallystick/evidence';
import { createFakeClock } from '../../testing/fake-clock.ts';
import { createTelemetry } from '../../telemetry.ts';
import type { CosignedCheckpoint, LogTree } from '../tree.ts';
import type { AskWitnesses, WitnessResponse } from './ask-witnesses.ts';
import { createWitnessing } from './witnessing.ts';

const seed = (text: string) => sha256(new TextEncoder().encode(text));
const keys = { a: await cosigner('a.example/w', seed('a')), b: await cosigner('b.example/w', seed('b')) };
const lines = `witness a ${keys.a.verifierKey} http://a.example/\nwitness b ${keys.b.verifierKey} http://b.example/\n`;
const either = await parsePolicy(`${lines}group g any a b\nquorum g\n`);
const both = await parsePolicy(`${lines}group g all a b\nquorum g\n`);
const nobody = await parsePolicy(`${lines}quorum none\n`);

type Name = keyof typeof keys;
type Outcome = WitnessResponse['outcome'];

const never = (): Promise<LogTree> => Promise.reject(new Error('not asked here'));
const lineBy = (name: string, keyId: string) => ({ name, keyId, signature: new Uint8Array(72).fill(1) });
const noteOf = (tenant: string, size: number) => {
  const head = formatCheckpoint({ origin: `log/t/${tenant}`, size: 1, root: seed(`${size}`) });
  return `${head.replace('\n1\n', `\n${size}\n`)}\n${signatureLine(lineBy(`log/t/${tenant}`, '00000000'))}`;
};

/** Logs in memory, witnesses with scripted responses, and a clock that the test moves. */
function world(policy = either, script: (witness: Name, tenant: string) => Outcome = () => 'Cosigned') {
  const clock = createFakeClock();
  const logs = new Map<string, { size: number; note: string }>();
  const asked: { tenant: string; size: number; witnesses: string[]; atMs: number }[] = [];
  const told: Record<string, unknown>[] = [];
  const stores: number[] = [];
  const seen = { atOnce: 0, atOnceMax: 0, hasProofs: true };
  const treeOf = (tenant: string): LogTree => ({
    origin: `log/t/${tenant}`,
    epoch: 0,
    firstIndex: 0,
    latest: async () => {
      const log = logs.get(tenant);
      return log === undefined ? undefined : { ...log, publishedAtMs: 1 };
    },
    checkpoint: never as never,
    tile: never as never,
    entries: never as never,
    root: never as never,
    inclusion: never as never,
    subtrees: never as never,
    consistency: () =>
      seen.hasProofs ? Promise.resolve([EMPTY_ROOT]) : Promise.reject(new Error('no proof')),
  });
  const answerOf = (witness: Name, tenant: string): WitnessResponse => {
    const outcome = script(witness, tenant);
    return { witness, outcome, message: `${witness} says ${outcome}` };
  };
  const ask: AskWitnesses = async ({ note, prove, policy: { witnesses, ...rest } }) => {
    const [origin = '', size] = note.split('\n');
    const tenant = origin.slice('log/t/'.length);
    const names = witnesses.flatMap(({ name, url }) => (url === undefined ? [] : [name as Name]));
    asked.push({ tenant, size: Number(size), witnesses: names, atMs: clock.monotonicNs() / 1e6 });
    seen.atOnceMax = Math.max(seen.atOnceMax, ++seen.atOnce);
    const isProven = await prove(1).then(
      () => true,
      () => false,
    );
    await new Promise((resolve) => setImmediate(resolve));
    seen.atOnce--;
    const reports = names.map(
      (name): WitnessResponse =>
        isProven ? answerOf(name, tenant) : { witness: name, outcome: 'Failed', message: 'no proof' },
    );
    const cosigned = reports.filter(({ outcome }) => outcome === 'Cosigned').map(({ witness }) => witness);
    const signatures = cosigned.map((name) => lineBy(keys[name as Name].name, keys[name as Name].keyId));
    const has = (['a', 'b'] as const).filter((name) => note.includes(`— ${keys[name].name} `));
    const isEnough = isQuorum({ witnesses, ...rest }, [...has, ...cosigned]);
    return { note: withSignatures(note, signatures), isQuorum: isEnough, reports };
  };
  const cosign = async (checkpoints: readonly CosignedCheckpoint[]) => {
    stores.push(checkpoints.length);
    await new Promise((resolve) => setImmediate(resolve));
    return checkpoints.map(({ tenant, size, note }) => {
      const log = logs.get(tenant);
      if (log?.size === size) log.note = note;
      return true;
    });
  };
  const telemetry = createTelemetry({
    clock,
    level: 'Info',
    form: 'json',
    secrets: [],
    write: (line) => void told.push(JSON.parse(line) as Record<string, unknown>),
  });
  const random = { bytes: () => new Uint8Array(), uuid: () => '', fraction: () => 0.5 };
  const trees = { forTenant: (tenant: string) => ({ tree: async () => treeOf(tenant) }) };
  const witnessing = createWitnessing({ policy, trees, writer: { cosign }, ask, clock, random, telemetry });
  witnessing.start();
  return {
    clock,
    asked,
    told,
    stores,
    seen,
    witnessing,
    publish: (tenant: string, size: number) => {
      logs.set(tenant, { size, note: noteOf(tenant, size) });
      witnessing.published(tenant);
    },
    cosigners: (tenant: string) =>
      (['a', 'b'] as const).filter((name) => logs.get(tenant)?.note.includes(`— ${keys[name].name} `)),
    messages: () => told.map(({ message }) => message),
    /** Until no work is left at this time. */
    settle: async () => {
      for (let i = 0; i < 30; i++) await clock.advance(0);
    },
    /** In steps, because work under way takes time too. */
    pass: async (ms: number) => {
      for (let left = ms; left > 0; left -= 500)
        for (let i = 0; i < 8; i++) await clock.advance(i === 0 ? 500 : 0);
    },
  };
}

test('of ten thousand logs eight are submitted at a time, each once and with its newest checkpoint; then there is no timer', async () => {
  const { publish, seen, asked, stores, clock, witnessing, cosigners, settle } = world();
  const tenants = Array.from({ length: 10_000 }, (_, i) => `t${i}`);
  for (const size of [1, 2]) for (const tenant of tenants) publish(tenant, size);
  while (witnessing.figures().openLogs > 0) await settle();
  assert.equal(seen.atOnceMax, 8);
  // The first ones were read before they grew.
  const sizes = new Map(asked.map(({ tenant, size }) => [tenant, size]));
  assert.deepEqual([sizes.size, new Set(sizes.values())], [10_000, new Set([2])]);
  assert.ok(asked.length <= 10_008, `${asked.length} submissions`);
  assert.ok(tenants.every((tenant) => cosigners(tenant).length === 2));
  assert.ok(stores.length < asked.length / 2, `${stores.length} commits`);
  assert.equal(clock.pending(), 0);
});

test('a log that grows while it is submitted is submitted once more, however often it grew', async () => {
  const { publish, settle, asked } = world();
  publish('acme', 1);
  await new Promise((resolve) => setImmediate(resolve));
  for (const size of [2, 3, 4]) publish('acme', size);
  await settle();
  assert.deepEqual(
    asked.map(({ size }) => size),
    [1, 4],
  );
});

test('a checkpoint with a quorum is not submitted, nor is a tenant without one', async () => {
  const { publish, settle, asked, witnessing } = world();
  publish('acme', 1);
  await settle();
  witnessing.published('acme');
  witnessing.published('nobody');
  await settle();
  assert.equal(asked.length, 1);
  assert.equal(witnessing.figures().openLogs, 0);
});

test('without a quorum the received cosignatures are kept, and only the missing ones are requested again, with growing pauses', async () => {
  const { publish, pass, asked, cosigners, settle } = world(both, (witness) =>
    witness === 'a' ? 'Cosigned' : 'Refused',
  );
  publish('acme', 1);
  await settle();
  assert.deepEqual(cosigners('acme'), ['a']);
  await pass(400_000);
  const [first, ...later] = asked;
  assert.deepEqual(first!.witnesses, ['a', 'b']);
  assert.deepEqual(new Set(later.map(({ witnesses }) => witnesses.join())), new Set(['b']));
  const pauses = later.map(({ atMs }, i) => Math.round((atMs - asked[i]!.atMs) / 1000));
  assert.deepEqual(pauses.slice(0, 9), [1, 2, 4, 8, 16, 32, 60, 60, 60]);
});

test('a log with a cosignature is submitted as it grows, also while the quorum is not met', async () => {
  const { publish, settle, asked, cosigners } = world(both, (witness) =>
    witness === 'a' ? 'Cosigned' : 'Unreachable',
  );
  for (const size of [1, 2, 3]) {
    publish('acme', size);
    await settle();
    assert.deepEqual(cosigners('acme'), ['a']);
  }
  assert.equal(asked.filter(({ witnesses }) => witnesses.includes('a')).length, 3);
});

test('an unreachable witness is tried at intervals for one log and delays no other; once it is back, all waiting logs continue', async () => {
  let isAway = true;
  const { publish, pass, clock, asked, cosigners, settle, witnessing, messages } = world(both, (witness) =>
    witness === 'b' && isAway ? 'Unreachable' : 'Cosigned',
  );
  const tenants = Array.from({ length: 500 }, (_, i) => `t${i}`);
  for (const tenant of tenants) publish(tenant, 1);
  for (let i = 0; i < 20; i++) await settle();
  assert.ok(tenants.every((tenant) => cosigners(tenant).join() === 'a'));
  const tried = () => asked.filter(({ witnesses }) => witnesses.includes('b')).length;
  assert.ok(tried() <= 8, `${tried()} before it was known to be away`);
  await pass(300_000);
  assert.ok(tried() < 25, `${tried()} in five minutes`);
  isAway = false;
  await pass(61_000);
  while (witnessing.figures().openLogs > 0) await settle();
  assert.ok(tenants.every((tenant) => cosigners(tenant).join() === 'a,b'));
  assert.deepEqual(messages(), ['a witness does not answer', 'a witness answers again']);
  assert.equal(clock.pending(), 0);
});

test('a contradiction is reported once for each log and witness, counts until that witness cosigns, and stores nothing', async () => {
  let outcome: Outcome = 'Ahead';
  const { publish, pass, told, cosigners, settle, witnessing, stores } = world(both, () => outcome);
  publish('acme', 1);
  publish('other', 1);
  await settle();
  await pass(30_000);
  const alarms = () => told.filter(({ level }) => level === 'Error');
  assert.deepEqual(
    alarms().map(({ tenant, witness, outcome: said }) => [tenant, witness, said]),
    ['acme', 'other'].flatMap((tenant) => ['a', 'b'].map((witness) => [tenant, witness, 'Ahead'])),
  );
  assert.deepEqual([witnessing.figures().contradictedLogs, stores, cosigners('acme')], [2, [], []]);
  outcome = 'Inconsistent';
  await pass(61_000);
  assert.equal(alarms().length, 8);
  outcome = 'Failed';
  await pass(61_000);
  assert.equal(witnessing.figures().contradictedLogs, 2, 'silence takes nothing back');
  outcome = 'Cosigned';
  await pass(122_000);
  assert.deepEqual([witnessing.figures().contradictedLogs, cosigners('acme')], [0, ['a', 'b']]);
});

const isUnknown = (tenant: string) => tenant.startsWith('unknown');

/**
 * Runs for seventy seconds in which a known log grows each second beside thirteen unknown ones; returns how often it
 * was cosigned at once.
 */
async function cosignedAtOnce(answerToUnknown: Outcome) {
  const { publish, pass, settle, cosigners, asked, messages } = world(either, (_, tenant) =>
    isUnknown(tenant) ? answerToUnknown : 'Cosigned',
  );
  let atOnce = 0;
  for (let size = 1; size <= 70; size++) {
    for (let i = 0; i < 13; i++) publish(`unknown-${i}`, size);
    publish('acme', size);
    await settle();
    if (cosigners('acme').length === 2) atOnce += 1;
    await pass(1000);
  }
  return { atOnce, asked, messages: messages() };
}

for (const answer of ['Refused', 'Failed'] as const) {
  test(`logs that the witnesses answer with an error (${answer}) do not delay known logs, and are retried with growing pauses`, async () => {
    const { atOnce, asked, messages } = await cosignedAtOnce(answer);
    assert.equal(atOnce, 70);
    for (let i = 0; i < 13; i++) {
      const times = asked.filter(({ tenant }) => tenant === `unknown-${i}`).length;
      assert.ok(times >= 4 && times <= 8, `unknown-${i} was submitted ${times} times`);
    }
    assert.deepEqual(new Set(messages), new Set(['a witness refuses to cosign']));
  });
}

test('control: where witnesses cannot be reached for some logs, others wait for them as well', async () => {
  const { atOnce, messages } = await cosignedAtOnce('Unreachable');
  assert.ok(atOnce < 35, `${atOnce} of 70`);
  assert.ok(messages.includes('a witness does not answer'));
});

test('a witness that does not know a log is not asked each time that another cosigns it', async () => {
  const { publish, pass, asked, cosigners } = world(either, (witness, tenant) =>
    witness === 'b' && isUnknown(tenant) ? 'Refused' : 'Cosigned',
  );
  for (let size = 1; size <= 60; size++) {
    for (const tenant of ['unknown', 'acme']) publish(tenant, size);
    await pass(1000);
    assert.deepEqual([cosigners('unknown'), cosigners('acme')], [['a'], ['a', 'b']]);
  }
  const askedB = (tenant: string) =>
    asked.filter((each) => each.tenant === tenant && each.witnesses.includes('b')).length;
  assert.equal(askedB('acme'), 60);
  assert.ok(askedB('unknown') <= 8, `${askedB('unknown')} times`);
});

test('logs that are submitted again take two turns at a time, however many they are', async () => {
  const { publish, pass, settle, seen, asked, cosigners } = world(either, (_, tenant) =>
    isUnknown(tenant) ? 'Refused' : 'Cosigned',
  );
  for (let i = 0; i < 500; i++) publish(`unknown-${i}`, 1);
  for (let i = 0; i < 20; i++) await settle();
  assert.deepEqual([asked.length, seen.atOnceMax], [500, 8]);
  seen.atOnceMax = 0;
  await pass(30_000);
  assert.ok(asked.length > 1000, `${asked.length} submissions`);
  assert.equal(seen.atOnceMax, 2);
  publish('acme', 1);
  await settle();
  assert.deepEqual(cosigners('acme'), ['a', 'b']);
});

test('a witness that refuses is reported once a minute, not once for each log', async () => {
  const { publish, pass, messages, settle } = world(either, () => 'Refused');
  for (let i = 0; i < 200; i++) publish(`t${i}`, 1);
  for (let i = 0; i < 10; i++) await settle();
  assert.deepEqual(messages(), ['a witness refuses to cosign', 'a witness refuses to cosign']);
  await pass(61_000);
  assert.ok(messages().length <= 4, `${messages().length} lines`);
});

test('a proof that we cannot make is our fault and not that of the witnesses', async () => {
  const { publish, pass, seen, messages, asked, cosigners, settle } = world();
  seen.hasProofs = false;
  publish('acme', 2);
  await settle();
  assert.deepEqual(messages(), ['a checkpoint could not be submitted to witnesses']);
  seen.hasProofs = true;
  await pass(1500);
  await settle();
  assert.deepEqual(asked.at(-1)?.witnesses, ['a', 'b'], 'none of them rests');
  assert.deepEqual(cosigners('acme'), ['a', 'b']);
});

test('a policy without a quorum asks every witness once, and never again', async () => {
  const { publish, pass, clock, asked, settle, witnessing } = world(nobody, () => 'Refused');
  publish('acme', 1);
  await settle();
  await pass(600_000);
  assert.deepEqual([asked.length, witnessing.figures().openLogs, clock.pending()], [1, 0, 0]);
});

test('once it has stopped nothing is submitted and no timer is left', async () => {
  const { publish, pass, clock, asked, settle, witnessing } = world(both, () => 'Refused');
  publish('acme', 1);
  await settle();
  await witnessing[Symbol.asyncDispose]();
  publish('acme', 2);
  await pass(120_000);
  assert.deepEqual([asked.length, clock.pending()], [1, 0]);
});
