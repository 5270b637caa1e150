import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { AuditError, LIMITS } from '@tallystick/contract';
import type { CursorScope, Position } from '../paging.ts';
import { createFakeClock } from '../testing/fake-clock.ts';
import { TENANT } from '../testing/test-call.ts';
import { createCursors } from './cursors.ts';

const clock = createFakeClock();
const cursors = createCursors({ keyOf: (tenant) => tenant.fingerprintKey, clock });

const OTHER_TENANT = { ...TENANT, tenantId: 'other', fingerprintKey: new Uint8Array(32).fill(2) };
const SCOPE: CursorScope = {
  tenant: TENANT,
  operation: 'events.list',
  asked: { action: ['Delete.*'], sort: ['-timestamp'] },
};
const POSITION: Position = { direction: 'Next', at: 41 };

const codeOf = (scope: CursorScope, cursor: string): string => {
  try {
    cursors.read(scope, cursor);
    return 'open';
  } catch (error) {
    assert.ok(error instanceof AuditError, String(error));
    return error.code;
  }
};

/** As an outsider would, who knows the format and no key. */
function mended(bytes: Buffer): string {
  const sum = createHash('sha256').update(bytes.subarray(0, -4)).digest().subarray(0, 4);
  return Buffer.concat([bytes.subarray(0, -4), sum]).toString('base64url');
}

test('a cursor gives back any position that was put in', () => {
  const directions = fc.constantFrom('Next' as const, 'Previous' as const);
  const at = fc.oneof(
    fc.maxSafeNat(),
    fc.constant(null),
    fc.string(),
    fc.array(fc.string(), { maxLength: 4 }),
  );
  fc.assert(
    fc.property(directions, at, (direction, key) => {
      const cursor = cursors.make(SCOPE, { direction, at: key });
      assert.match(cursor, /^[\w-]+$/);
      assert.deepEqual(cursors.read(SCOPE, cursor), { direction, at: key });
    }),
  );
});

test('a cursor that is altered at any place is invalid', () => {
  // Three lengths, so that the last letter holds bits that mean nothing in two of them.
  for (const at of [1, 41, 100]) {
    const cursor = cursors.make(SCOPE, { direction: 'Next', at });
    for (let i = 0; i < cursor.length; i++) {
      const letters = [...'ABCDQghw4_-'].filter((letter) => letter !== cursor[i]);
      for (const letter of letters) {
        const altered = cursor.slice(0, i) + letter + cursor.slice(i + 1);
        assert.equal(codeOf(SCOPE, altered), 'CURSOR_INVALID', `${letter} at ${i}`);
      }
    }
  }
});

test('a cursor has one text: what decodes to the same bytes is invalid', () => {
  const cursor = cursors.make(SCOPE, { direction: 'Next', at: 1 });
  assert.equal(codeOf(SCOPE, cursor), 'open');
  for (const other of [
    `${cursor}=`,
    `${cursor}==`,
    ` ${cursor}`,
    `${cursor}\n`,
    `${cursor}!`,
    cursor.slice(1),
  ]) {
    assert.equal(codeOf(SCOPE, other), 'CURSOR_INVALID', JSON.stringify(other));
  }
});

test('what never was a cursor is invalid', () => {
  const texts = ['x', 'next', '42', 'AQ', 'A'.repeat(200), 'eyJhdCI6MX0', 'ключ', '../..', 'A'.repeat(4096)];
  for (const text of texts) assert.equal(codeOf(SCOPE, text), 'CURSOR_INVALID', text.slice(0, 20));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      assert.equal(codeOf(SCOPE, Buffer.from(bytes).toString('base64url')), 'CURSOR_INVALID');
    }),
  );
});

test('a cursor that was bent by someone who knows the format is invalid', () => {
  const bytes = Buffer.from(cursors.make(SCOPE, POSITION), 'base64url');
  assert.equal(codeOf(SCOPE, mended(bytes)), 'open', 'an untouched one is mended to itself');
  for (let i = 9; i < bytes.length - 4; i++) {
    const bent = Buffer.from(bytes);
    bent[i]! ^= 1;
    assert.equal(codeOf(SCOPE, mended(bent)), 'CURSOR_INVALID', `byte ${i}`);
  }
});

test('other filters, another sort order and another operation are a mismatch', () => {
  const cursor = cursors.make(SCOPE, POSITION);
  const others: Partial<CursorScope>[] = [
    { asked: {} },
    { asked: { ...SCOPE.asked, outcome: ['Denied'] } },
    { asked: { ...SCOPE.asked, action: ['Delete.*', 'Read.*'] } },
    { asked: { ...SCOPE.asked, sort: ['timestamp'] } },
    { operation: 'violations.list' },
  ];
  for (const other of others) {
    assert.equal(codeOf({ ...SCOPE, ...other }, cursor), 'CURSOR_MISMATCH', JSON.stringify(other));
  }
});

test('a request is the same in any order of its members, and with its defaults left out', () => {
  const cursor = cursors.make(SCOPE, POSITION);
  const asked = { sort: ['-timestamp'], q: undefined, endTime: null, action: ['Delete.*'] };
  assert.equal(codeOf({ ...SCOPE, asked }, cursor), 'open');
});

test('the cursor of another tenant is a mismatch, and so is a forged one: neither tells whether it works there', () => {
  const theirs = cursors.make({ ...SCOPE, tenant: OTHER_TENANT }, POSITION);
  assert.equal(codeOf(SCOPE, theirs), 'CURSOR_MISMATCH');
  const forged = Buffer.from(theirs, 'base64url');
  forged.fill(7, 9, forged.length - 4);
  assert.equal(codeOf({ ...SCOPE, tenant: OTHER_TENANT }, mended(forged)), 'CURSOR_INVALID');
  assert.equal(codeOf(SCOPE, mended(forged)), 'CURSOR_MISMATCH');
});

test('a cursor that was made to look like one of this tenant is invalid', () => {
  const bytes = Buffer.from(cursors.make({ ...SCOPE, tenant: OTHER_TENANT }, POSITION), 'base64url');
  Buffer.from(cursors.make(SCOPE, POSITION), 'base64url').copy(bytes, 1, 1, 9);
  assert.equal(codeOf(SCOPE, mended(bytes)), 'CURSOR_INVALID');
});

test('a tenant that has not written yet has no cursor of its own', () => {
  const unknown = { ...SCOPE, tenant: undefined };
  assert.equal(codeOf(unknown, cursors.make(SCOPE, POSITION)), 'CURSOR_MISMATCH');
  assert.equal(codeOf(unknown, 'x'), 'CURSOR_INVALID');
  assert.throws(() => cursors.make(unknown, POSITION), /not known/);
});

test('a cursor lives 24 hours by the clock, wherever that jumps', async () => {
  const startMs = clock.now();
  const cursor = cursors.make(SCOPE, POSITION);
  await clock.advance(LIMITS.cursorLifetimeMs);
  assert.equal(codeOf(SCOPE, cursor), 'open');
  await clock.advance(1);
  assert.equal(codeOf(SCOPE, cursor), 'CURSOR_EXPIRED');
  clock.setNow(startMs - 1_000_000);
  assert.equal(codeOf(SCOPE, cursor), 'open', 'a clock that went back');
  clock.setNow(startMs);
});

test('an old cursor with other filters is a mismatch first', async () => {
  const cursor = cursors.make(SCOPE, POSITION);
  await clock.advance(2 * LIMITS.cursorLifetimeMs);
  assert.equal(codeOf({ ...SCOPE, asked: {} }, cursor), 'CURSOR_MISMATCH');
  assert.equal(codeOf(SCOPE, cursor), 'CURSOR_EXPIRED');
});

test('cursors are not authenticated with the key that tells requests apart', () => {
  const bytes = Buffer.from(cursors.make(SCOPE, POSITION), 'base64url');
  const said = bytes.subarray(0, -20);
  const bare = createHmac('sha256', TENANT.fingerprintKey).update(said).digest().subarray(0, 16);
  assert.notDeepEqual(bytes.subarray(-20, -4), bare);
});

test('a position that no cursor can hold is a failure of ours', () => {
  assert.throws(() => cursors.make(SCOPE, { direction: 'Next', at: 'x'.repeat(3100) }), /characters/);
});
