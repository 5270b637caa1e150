// HMAC-SHA-256 under a key of bytes. Node takes five times as long when it is given the bytes themselves: it finds out by an exception
// that they are no key object.

import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/** Of the messages one behind the other. A key that is used again and again is best given as an object. */
export function hmacSha256(
  key: KeyObject | Uint8Array,
  ...messages: readonly (string | Uint8Array)[]
): Buffer {
  const hmac = createHmac('sha256', key instanceof Uint8Array ? createSecretKey(key) : key);
  for (const message of messages) hmac.update(message);
  return hmac.digest();
}
