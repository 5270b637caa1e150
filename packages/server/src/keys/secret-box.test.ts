import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemRandom } from '../runtime/random.ts';
import {
  ClosedBox,
  createSecretBoxes,
  type SecretKey,
  type SecretKeys,
  type SecretPlace,
} from './secret-box.ts';

const random = createSystemRandom();
const PLACE: SecretPlace = {
  tenant: 'acme',
  kind: 'Subscription',
  id: '01KE0000000000000000000001',
  purpose: 'signing secret',
};

function setUp() {
  const all = new Map<string, SecretKey>();
  let newest = 0;
  const keys: SecretKeys = {
    async current(tenant) {
      const keyId = `01KE00000000000000000000K${newest}`;
      const made = all.get(keyId) ?? { keyId, key: random.bytes(32) };
      all.set(keyId, made);
      return tenant === 'acme' ? made : { keyId, key: new Uint8Array(32) };
    },
    find: async (_, keyId) => all.get(keyId),
  };
  return { boxes: createSecretBoxes(keys, random), all, rotate: () => void newest++ };
}

test('a box opens to the text that was sealed, whatever it is, and two boxes of one text differ', async () => {
  const { boxes } = setUp();
  for (const text of ['', 'whsec_x', 'Zürich 🗝', 'x'.repeat(40_000)]) {
    const [one, other] = [await boxes.seal(text, PLACE), await boxes.seal(text, PLACE)];
    assert.notEqual(one, other);
    assert.equal(await boxes.open(one, PLACE), text);
    assert.ok(text.length < 5 || !one.includes(text));
  }
});

test('a box opens at its own place alone', async () => {
  const { boxes } = setUp();
  const box = await boxes.seal('hunter2', PLACE);
  const elsewhere: readonly Partial<SecretPlace>[] = [
    { tenant: 'other' },
    { kind: 'Policy' },
    { id: '01KE0000000000000000000002' },
    { purpose: 'client key' },
  ];
  for (const other of elsewhere)
    await assert.rejects(boxes.open(box, { ...PLACE, ...other }), ClosedBox, JSON.stringify(other));
  assert.equal(await boxes.open(box, PLACE), 'hunter2', 'control');
});

test('a box of which anything was altered, or whose key is gone, does not open, and the error tells nothing of it', async () => {
  const { boxes, all } = setUp();
  const box = await boxes.seal('hunter2', PLACE);
  const [keyId = '', sealed = ''] = box.split('.');
  const bytes = Buffer.from(sealed, 'base64');
  const flipped = (at: number) => Buffer.from(bytes.map((byte, i) => (i === at ? byte ^ 1 : byte)));
  const altered = [0, 12, bytes.length - 1].map((at) => `${keyId}.${flipped(at).toString('base64')}`);
  const broken = ['', '.', keyId, `${keyId}.`, `${keyId}.AA==`, sealed, `${box}=`, `${keyId}9.${sealed}`];
  for (const each of [...altered, ...broken])
    await assert.rejects(boxes.open(each, PLACE), {
      message:
        'the signing secret of the Subscription 01KE0000000000000000000001 does not open with the keyring',
    });
  const later = setUp();
  all.clear();
  await assert.rejects(later.boxes.open(box, PLACE), ClosedBox);
});

test('after a rotation older boxes open, and new ones are under the new key', async () => {
  const { boxes, rotate } = setUp();
  const before = await boxes.seal('one', PLACE);
  rotate();
  const after = await boxes.seal('two', PLACE);
  assert.notEqual(before.split('.')[0], after.split('.')[0]);
  assert.deepEqual([await boxes.open(before, PLACE), await boxes.open(after, PLACE)], ['one', 'two']);
});
