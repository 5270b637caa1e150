import assert from 'node:assert/strict';
import { createHmac, createSecretKey } from 'node:crypto';
import { test } from 'node:test';
import { hmacSha256 } from './hmac.ts';

test('it is the HMAC of Node, for keys and messages of any length', () => {
  for (const length of [0, 1, 32, 64, 65, 200]) {
    const key = Buffer.alloc(length, 7);
    for (const message of ['', 'ä text', Buffer.alloc(300, 1)]) {
      const expected = createHmac('sha256', key).update(message).update('end').digest();
      assert.deepEqual(hmacSha256(key, message, 'end'), expected);
      assert.deepEqual(hmacSha256(createSecretKey(key), message, 'end'), expected);
    }
  }
});
