// Makes fingerprints, by which repeated requests and events are recognised (repeats.ts):
//
//   HMAC(what was sent)[32] ‖ HMAC(identity of the caller)[32]
//
// HMAC is HMAC-SHA-256 (RFC 2104) under a key of the tenant, which is shorter than a block. What was sent is written straight
// into the memory where it is hashed, and the messages of a request are hashed four at a time: an Hmac of Node takes ten
// times as long.

import { ok as assert } from 'node:assert/strict';
import { HashPool } from '@tallystick/evidence';
import type { Caller } from './access/caller.ts';
import type { TenantRecord } from './access/tenants.ts';

export const SENT_BYTES = 32;
const FINGERPRINT_BYTES = 2 * SENT_BYTES;
const BLOCK_BYTES = 64;
/** The messages that are hashed together: enough to fill the lanes, few enough to stay in the processor's cache. */
const LOT_BYTES = 128 * 1024;
/** Up to so many bytes, a loop is faster than set() and the view that it needs. */
const LOOP_LENGTH_MAX = 128;

/** Made at the first use. Who uses it is done with it before any other code can run. */
let shared: HashPool | undefined;

/**
 * The fingerprints of one request. Between the first begin() and finish() no other code may make fingerprints. A message is
 * begun, written and ended; its fingerprint is there after finish().
 */
export class Fingerprints {
  readonly #pool = (shared ??= new HashPool());
  readonly #pads: Pads;
  readonly #caller: Uint8Array;
  readonly #made: Uint8Array[] = [];
  /** Where the second hash of each reads the first from. */
  readonly #outerAt: number[] = [];
  #at = 0;
  #end = 0;

  constructor(tenant: TenantRecord, caller: Caller) {
    this.#pads = padsOf(tenant.fingerprintKey);
    this.#caller = callerPart(tenant, caller);
    this.#pool.reset();
  }

  /** A message of at most so many bytes. */
  begin(bytesMax: number): void {
    if (this.#pool.bytesUsed > LOT_BYTES) this.finish();
    this.#at = this.#pool.room(BLOCK_BYTES + bytesMax);
    this.#pool.bytes.set(this.#pads.inner, this.#at);
    this.#end = this.#at + BLOCK_BYTES;
  }

  write(bytes: Uint8Array, from = 0, to = bytes.length): void {
    const into = this.#pool.bytes;
    const by = this.#end - from;
    if (to - from > LOOP_LENGTH_MAX) into.set(bytes.subarray(from, to), this.#end);
    else for (let i = from; i < to; i++) into[i + by] = bytes[i]!;
    this.#end += to - from;
  }

  /** The fingerprint of what was written; its bytes are there after finish(). */
  end(): Uint8Array {
    const outerAt = this.#pool.room(BLOCK_BYTES + SENT_BYTES);
    this.#pool.bytes.set(this.#pads.outer, outerAt);
    this.#pool.hash(this.#at, this.#end - this.#at, outerAt + BLOCK_BYTES);
    this.#outerAt.push(outerAt);
    const made = new Uint8Array(FINGERPRINT_BYTES);
    made.set(this.#caller, SENT_BYTES);
    this.#made.push(made);
    return made;
  }

  finish(): void {
    const pool = this.#pool;
    pool.run();
    // Over the key that it began with.
    for (const at of this.#outerAt) pool.hash(at, BLOCK_BYTES + SENT_BYTES, at);
    pool.run();
    for (let i = 0; i < this.#made.length; i++) {
      const at = this.#outerAt[i]!;
      const made = this.#made[i]!;
      for (let k = 0; k < SENT_BYTES; k++) made[k] = pool.bytes[at + k]!;
    }
    this.#made.length = 0;
    this.#outerAt.length = 0;
    pool.reset();
  }
}

/** A single one. */
export function fingerprintOf(
  tenant: TenantRecord,
  caller: Caller,
  ...sent: readonly (string | Uint8Array)[]
): Uint8Array {
  const parts = sent.map((part) => (typeof part === 'string' ? Buffer.from(part) : part));
  const fingerprints = new Fingerprints(tenant, caller);
  fingerprints.begin(parts.reduce((bytes, part) => bytes + part.length, 0));
  for (const part of parts) fingerprints.write(part);
  const made = fingerprints.end();
  fingerprints.finish();
  return made;
}

/** The key as both hashes begin with it. */
interface Pads {
  readonly inner: Uint8Array;
  readonly outer: Uint8Array;
}

const pads = new WeakMap<Uint8Array, Pads>();

function padsOf(key: Uint8Array): Pads {
  const known = pads.get(key);
  if (known !== undefined) return known;
  const made = { inner: padded(key, 0x36), outer: padded(key, 0x5c) };
  pads.set(key, made);
  return made;
}

function padded(key: Uint8Array, byte: number): Uint8Array {
  assert(key.length <= BLOCK_BYTES, 'a key is at most a block');
  const block = new Uint8Array(BLOCK_BYTES).fill(byte);
  for (let i = 0; i < key.length; i++) block[i]! ^= key[i]!;
  return block;
}

/** Made once for many events of one caller in one tenant. */
const callerParts = new WeakMap<Caller, { readonly key: Uint8Array; readonly made: Uint8Array }>();
const EMPTY = new Uint8Array(SENT_BYTES);

function callerPart(tenant: TenantRecord, caller: Caller): Uint8Array {
  const { fingerprintKey: key } = tenant;
  const found = callerParts.get(caller);
  if (found?.key === key) return found.made;
  // While its own is made, the caller has none.
  callerParts.set(caller, { key, made: EMPTY });
  try {
    const made = fingerprintOf(tenant, caller, 'caller\n', caller.identity).subarray(0, SENT_BYTES);
    callerParts.set(caller, { key, made });
    return made;
  } catch (error) {
    // What stands in for it must not stay.
    callerParts.delete(caller);
    throw error;
  }
}
