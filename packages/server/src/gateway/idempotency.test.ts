// Keys: how they are read, what they stand for, and that of two at once one performs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError, type Classification } from '@tallystick/contract';
import type { Call, Received } from '../call.ts';
import { Deadline } from '../runtime/deadline.ts';
import type { AnyAnswer, UsedIdempotencyKey } from '../operations.ts';
import { TENANT, testCall } from '../testing/test-call.ts';
import { createAnswerOnce, idempotencyKeyOf } from './idempotency.ts';

const received = (body: unknown): Received => ({
  input: { event: body },
  violations: [],
  unlisted: 0,
  text: undefined,
  fingerprinted: ['/somewhere', '\n', JSON.stringify(body)],
  placeOf: () => 'Body',
});

const { caller } = testCall();

test('a key is 1 to 255 visible ASCII characters, sent once', () => {
  const read = (key: string) => idempotencyKeyOf(key, received({}), caller).key;
  for (const key of ['x', '~'.repeat(255), '!"#,;/=?']) assert.equal(read(key), key);
  for (const key of ['', ' ', 'a b', 'a, b', '~'.repeat(256), 'é', '\t', '\u007f']) {
    assert.throws(
      () => read(key),
      (error) => error instanceof AuditError && error.code === 'INVALID_HEADER' && error.details.length === 1,
      JSON.stringify(key),
    );
  }
});

test('a fingerprint is of what was asked, of the tenant and of the caller', () => {
  const printOf = (body: unknown, by = caller, tenant = TENANT) =>
    Buffer.from(idempotencyKeyOf('k', received(body), by).fingerprint(tenant)).toString('hex');
  const print = printOf({ a: 1 });
  assert.equal(print.length, 128);
  assert.equal(printOf({ a: 1 }), print);
  assert.notEqual(printOf({ a: 2 }), print);
  assert.notEqual(printOf({ a: 1 }, { ...caller!, identity: 'key:another' }), print);
  assert.notEqual(printOf({ a: 1 }, caller, { ...TENANT, fingerprintKey: new Uint8Array(32) }), print);
});

interface How {
  readonly key?: string;
  readonly fails?: boolean;
  readonly more?: Partial<Call>;
  readonly hold?: Promise<void>;
  /** Whether the commit finds the key, as one of events does. */
  readonly commitFinds?: boolean;
}

const ofCaller = ({ caller: asking }: Call) => asking!.clearance;

/** A store of used keys, and a way to ask it whose performing takes as long as the test wants. */
function stage() {
  const kept = new Map<string, UsedIdempotencyKey>();
  const finds: string[] = [];
  const answerOnce = createAnswerOnce(
    {
      find: async (tenant, operation, key) => {
        finds.push(key);
        return kept.get(`${tenant} ${operation} ${key}`);
      },
      tenant: async () => undefined,
    },
    ofCaller,
  );
  let performed = 0;
  const ask = (body: unknown, how: How = {}): Promise<AnyAnswer> => {
    const { key = 'k', fails = false, more = {}, hold = Promise.resolve(), commitFinds = false } = how;
    const once = idempotencyKeyOf(key, received(body), more.caller ?? caller);
    const call = testCall({ once, ...more });
    const again = () => ({ kind: 'Repeated', body: 'first' }) as const;
    return answerOnce(
      call,
      received(body),
      again,
      async () => {
        performed += 1;
        await hold;
        if (fails) throw new AuditError('VALIDATION_FAILED', 'no');
        const fingerprint = once.fingerprint(TENANT);
        const used: UsedIdempotencyKey = {
          fingerprint,
          classification: 'Confidential',
          expiresAtMs: 0,
          note: '',
          outcomes: [],
        };
        const name = `${call.tenant} ${call.operation} ${key}`;
        if (commitFinds && kept.has(name)) return { kind: 'Repeated', body: 'from the commit' };
        kept.set(name, used);
        return { kind: 'Created', body: 'first' };
      },
      commitFinds,
    );
  };
  const kinds = async (asked: Promise<AnyAnswer>[]) =>
    (await Promise.allSettled(asked)).map((each) =>
      each.status === 'fulfilled' ? each.value.kind : (each.reason as AuditError).code,
    );
  return { ask, kinds, finds, kept, count: () => performed };
}

test('of two at once one performs, and the other waits and gets its answer', async () => {
  const { ask, kinds, count } = stage();
  let release = () => {};
  const hold = new Promise<void>((resolve) => (release = resolve));
  const both = [ask({ a: 1 }, { hold }), ask({ a: 1 }), ask({ a: 2 })];
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(count(), 1);
  release();
  assert.deepEqual(await kinds(both), ['Created', 'Repeated', 'IDEMPOTENCY_KEY_REUSED']);
  assert.equal(count(), 1);
});

test('others who wait for the first are told of a repeat only if they may read it', async () => {
  const by = (identity: string, clearance: Classification) => ({
    more: { caller: { ...caller!, identity, clearance } },
  });
  for (const body of [{ a: 1 }, { a: 2 }]) {
    const { ask, kinds, count } = stage();
    const isRight = body.a === 1;
    const asked = [
      ask({ a: 1 }, by('key:one', 'Internal')),
      ask(body, by('key:two', 'Internal')),
      ask(body, by('key:one', 'Internal')),
      ask(body, by('key:two', 'Confidential')),
    ];
    const told = isRight ? 'Repeated' : 'IDEMPOTENCY_KEY_REUSED';
    assert.deepEqual(await kinds(asked), ['Created', 'IDEMPOTENCY_KEY_REUSED', told, told]);
    assert.equal(count(), 1);
  }
});

test('when the first fails, the next performs; only success uses a key up', async () => {
  const { ask, kinds, count } = stage();
  const asked = [ask({ a: 1 }, { fails: true }), ask({ a: 2 }), ask({ a: 2 })];
  assert.deepEqual(await kinds(asked), ['VALIDATION_FAILED', 'Created', 'Repeated']);
  assert.equal(count(), 2);
});

test('a request that is refused because another process has done it meanwhile gets the answer to that', async () => {
  const { ask, kinds, kept, count } = stage();
  await ask({ a: 1 });
  const [name, used] = [...kept][0]!;
  const refused = (body: object) => {
    kept.clear();
    // While it performs.
    const hold = new Promise((resolve) => setImmediate(resolve)).then(() => void kept.set(name, used));
    return kinds([ask(body, { hold, fails: true })]);
  };
  assert.deepEqual(await refused({ a: 1 }), ['Repeated']);
  assert.deepEqual(await refused({ a: 2 }), ['IDEMPOTENCY_KEY_REUSED']);
  assert.equal(count(), 3);
});

test('a key stands for one tenant and one operation', async () => {
  const { ask, kinds, count } = stage();
  const asked = [
    ask({ a: 1 }),
    ask({ a: 2 }, { more: { tenant: 'other' } }),
    ask({ a: 3 }, { more: { operation: 'events.ingestBatch' } }),
    ask({ a: 4 }, { key: 'K' }),
  ];
  assert.deepEqual(new Set(await kinds(asked)), new Set(['Created']));
  assert.equal(count(), 4);
});

test('a tenant that has not written yet is not looked up; a request that has waited too long is not performed', async () => {
  const { ask, kinds, finds, count } = stage();
  assert.deepEqual(await kinds([ask({ a: 1 }, { more: { tenantRecord: undefined } })]), ['Created']);
  assert.deepEqual(finds, []);
  const late = new Deadline();
  late.pass(new AuditError('BATCH_TIMEOUT', 'too late'));
  assert.deepEqual(await kinds([ask({ a: 1 }, { more: { deadline: late } })]), ['BATCH_TIMEOUT']);
  assert.equal(count(), 1);
});

test('a fingerprint of another length is that of another request', async () => {
  const { ask, kinds, kept } = stage();
  await ask({ a: 1 });
  for (const [name, used] of kept) kept.set(name, { ...used, fingerprint: used.fingerprint.subarray(1) });
  assert.deepEqual(await kinds([ask({ a: 1 })]), ['IDEMPOTENCY_KEY_REUSED']);
});

test('a key that the commit finds is looked up only if nothing was stored', async () => {
  const { ask, kinds, finds } = stage();
  const commitFinds = true;
  assert.equal((await ask({ a: 1 }, { commitFinds })).body, 'first');
  assert.equal((await ask({ a: 1 }, { commitFinds })).body, 'from the commit');
  assert.deepEqual(finds, []);
  const refused = { commitFinds, fails: true };
  assert.equal(
    (await ask({ a: 1 }, refused)).kind,
    'Repeated',
    'accepted once, though it would be refused now',
  );
  const others = [ask({ a: 2 }, refused), ask({ a: 1 }, { ...refused, key: 'unused' })];
  assert.deepEqual(await kinds(others), ['IDEMPOTENCY_KEY_REUSED', 'VALIDATION_FAILED']);
  assert.deepEqual(finds, ['k', 'k', 'unused']);
});

test('a batch of which nothing is stored now gets the answer that it got before', async () => {
  const used = { classification: 'Public', expiresAtMs: 0, note: '', outcomes: [] } as const;
  const once = idempotencyKeyOf('k', received({}), caller);
  const answered = async (isUsed: boolean) => {
    const find = async () => (isUsed ? { ...used, fingerprint: once.fingerprint(TENANT) } : undefined);
    const answerOnce = createAnswerOnce({ find, tenant: async () => TENANT }, ofCaller);
    const again = () => ({ kind: 'Repeated', body: 'first' }) as const;
    const rejected = async () => ({ kind: 'Rejected', body: 'now' }) as const;
    return answerOnce(testCall({ once }), received({}), again, rejected, true);
  };
  assert.deepEqual(await answered(true), { kind: 'Repeated', body: 'first' });
  assert.deepEqual(await answered(false), { kind: 'Rejected', body: 'now' });
});

test('if neither the log nor the keys can be asked, the answer says whether the events may be stored', async () => {
  const once = idempotencyKeyOf('k', received({}), caller);
  const answerOnce = createAnswerOnce(
    {
      find: () => Promise.reject(new AuditError('SERVICE_UNAVAILABLE', 'not to be read')),
      tenant: async () => TENANT,
    },
    ofCaller,
  );
  for (const [code, message] of [
    ['SERVICE_UNAVAILABLE', 'perhaps stored'],
    ['VALIDATION_FAILED', 'not to be read'],
  ] as const) {
    const perform = () => Promise.reject(new AuditError(code, 'perhaps stored'));
    const never = () => assert.fail('nothing is known of a first');
    const asked = answerOnce(testCall({ once }), received({}), never, perform, true);
    await assert.rejects(asked, { code: 'SERVICE_UNAVAILABLE', message });
  }
});
