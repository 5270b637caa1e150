// Whose turn it is, how much is kept, and what is never called verified. The store is played: what it finds in real
// streams is the matter of verifications.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createFakeClock } from '../runtime/fake-clock.ts';
import { createTelemetry } from '../telemetry.ts';
import type { RangeVerdict } from './tree.ts';
import { KEPT_MAX, VerificationTurns, type VerificationWish, WAITING_MAX } from './verification-turns.ts';

const SOUND: RangeVerdict = {
  checkedEvents: 1,
  expiredEvents: 0,
  redactedEvents: 0,
  treeSize: 5,
  rootHash: new Uint8Array(32),
};
const DAY_MS = 24 * 3_600_000;

interface Held {
  readonly tenant: string;
  readonly end: (verdict?: RangeVerdict) => Promise<void>;
  readonly step: () => Promise<void>;
}

/** Every range is held until it is told to go on. */
function build() {
  const clock = createFakeClock(1_000_000);
  const lines: string[] = [];
  const held: Held[] = [];
  let lastId = 0;
  const write = (line: string) => void lines.push(line);
  const turns = new VerificationTurns({
    trees: {
      checkRange({ tenant }, onProgress) {
        const { promise, resolve, reject } = Promise.withResolvers<RangeVerdict>();
        const end = async (verdict = SOUND) => {
          resolve(verdict);
          await setImmediate();
        };
        const step = async () => {
          try {
            onProgress(1);
          } catch (error) {
            reject(error);
          }
          await setImmediate();
        };
        held.push({ tenant, end, step });
        return promise;
      },
    },
    clock,
    nextId: () => String(++lastId),
    signing: { publicKeys: () => [] },
    telemetry: createTelemetry({ clock, level: 'Info', form: 'json', secrets: [], write }),
  });
  const begin = (tenant: string, more: Partial<VerificationWish> = {}) =>
    turns.begin({
      tenant,
      streamId: '01KE0000000000000000000001',
      requestedBy: 'key:1',
      fromIndex: 0,
      endIndex: 5,
      requiredSize: 5,
      key: undefined,
      ...more,
    });
  return { turns, begin, held, clock, lines };
}

test('tenants take turns, one of each at a time', async () => {
  const { begin, held } = build();
  for (const tenant of ['a', 'a', 'a', 'b', 'b', 'c']) begin(tenant);
  for (let i = 0; i < 6; i++) await held[i]!.end();
  assert.equal(held.map(({ tenant }) => tenant).join(''), 'abcaba');
});

test('a tenant that has too many waiting is refused, and no other', async () => {
  const { begin } = build();
  for (let i = 0; i <= WAITING_MAX; i++) begin('a');
  assert.throws(() => begin('a'), { code: 'SERVICE_UNAVAILABLE' });
  for (const tenant of ['b', 'c', 'd']) begin(tenant);
});

test('the oldest of a tenant is forgotten for a new one, with its key, and those of others stay', async () => {
  const { turns, begin, held } = build();
  const key = { key: 'k', fingerprint: new Uint8Array(32) };
  const [first, other] = [begin('a', { key }), begin('b', { key })];
  await held[0]!.end();
  await held[1]!.end();
  for (let i = 1; i < KEPT_MAX; i++) {
    begin('a');
    await held.at(-1)!.end();
  }
  assert.equal(turns.find(first.operationId), first);
  assert.equal(turns.underKey('a', 'k'), first);
  begin('a');
  assert.equal(turns.find(first.operationId), undefined);
  assert.equal(turns.underKey('a', 'k'), undefined);
  assert.equal(turns.find(other.operationId), other);
  assert.equal(turns.underKey('b', 'k'), other);
});

test('a verdict is kept for a day', async () => {
  const { turns, begin, held, clock } = build();
  const key = { key: 'k', fingerprint: new Uint8Array(32) };
  const first = begin('a', { key });
  await held[0]!.end();
  await clock.advance(DAY_MS);
  assert.equal(turns.underKey('a', 'k'), first);
  await clock.advance(1);
  assert.equal(turns.underKey('a', 'k'), undefined);
  assert.equal(turns.find(first.operationId), undefined);
});

test('a range is not verified where no checkpoint covers all of it', async () => {
  const { begin, held } = build();
  // The log begins at index 100 of the sequence and is signed up to its size of 5.
  const cases = [
    { fromIndex: 100, endIndex: 105, requiredSize: 5, found: undefined },
    { fromIndex: 102, endIndex: 107, requiredSize: 7, found: [105, 'KEY_UNKNOWN'] },
    { fromIndex: 106, endIndex: 110, requiredSize: 10, found: [106, 'KEY_UNKNOWN'] },
    { fromIndex: 110, endIndex: 110, requiredSize: 0, found: undefined },
  ];
  for (const { found, ...range } of cases) {
    const verification = begin('a', range);
    await held.at(-1)!.end();
    const { fault } = verification.verdict!;
    assert.deepEqual(fault && [fault.index, fault.reason], found, JSON.stringify(range));
  }
});

test('disposal drops what waits, ends what is under way at its next step, and says nothing of either', async () => {
  const { turns, begin, held, lines } = build();
  for (const tenant of ['a', 'a', 'b', 'c']) begin(tenant);
  const disposed = turns[Symbol.asyncDispose]();
  assert.equal(held.length, 2);
  for (const each of held) await each.step();
  await disposed;
  assert.deepEqual([held.length, lines], [2, []]);
  assert.throws(() => begin('d'), { code: 'SERVICE_UNAVAILABLE' });
});
