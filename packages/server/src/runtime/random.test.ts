import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemRandom } from './random.ts';

test('bytes are never handed out twice', () => {
  const random = createSystemRandom();
  const seen = new Set<string>();
  for (let i = 0; i < 5000; i++) seen.add(Buffer.from(random.bytes(16)).toString('hex'));
  assert.equal(seen.size, 5000);
});

test('bytes larger than the pool are as long as asked and not all zero', () => {
  const bytes = createSystemRandom().bytes(10_000);
  assert.equal(bytes.length, 10_000);
  assert.ok(new Set(bytes).size > 200);
});

test('what one caller got does not change when the next one asks', () => {
  const random = createSystemRandom();
  const first = random.bytes(16);
  const copy = Uint8Array.from(first);
  for (let i = 0; i < 1000; i++) random.bytes(16);
  assert.deepEqual(first, copy);
});

test('fractions lie in [0, 1) and fill it evenly', () => {
  const random = createSystemRandom();
  const tenths = Array.from({ length: 10 }, () => 0);
  for (let i = 0; i < 20_000; i++) {
    const fraction = random.fraction();
    assert.ok(fraction >= 0 && fraction < 1);
    tenths[Math.floor(fraction * 10)]! += 1;
  }
  // 2000 expected each; eight standard deviations is about 340.
  for (const count of tenths) assert.ok(Math.abs(count - 2000) < 340, String(tenths));
});

test('a UUID is version 4', () => {
  assert.match(
    createSystemRandom().uuid(),
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
});
