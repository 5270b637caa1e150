// Recognises repeated requests and events, for the callers who may learn of it. A fingerprint covers content and sender:
//
//   HMAC(what was sent)[32] ‖ HMAC(identity of the caller)[32]
//
// both under a key of the tenant: it says nothing about either to those who lack the key, nor to anybody once the key is
// destroyed. A repeat is recognised for the caller that sent the first, and for callers whose clearance reaches
// the classification of what was stored. For everyone else equal content is like any other: otherwise they could guess
// content that they may not read, and see which guess is a repeat.

import { hash, timingSafeEqual } from 'node:crypto';
import { type Classification, CLASSIFICATIONS } from '@tallystick/contract';
import type { Caller } from './access/caller.ts';
import type { TenantRecord } from './access/tenants.ts';

/** The stored facts of the first request or event. */
export interface First {
  /** Undefined where nothing is left to compare with. */
  readonly fingerprint: Uint8Array | undefined;
  readonly classification: Classification;
}

/** The facts of a request or event that may be a repeat. */
export interface Again {
  readonly fingerprint: Uint8Array | undefined;
  /** Of its caller. */
  readonly clearance: Classification;
}

/**
 * For a request that stores no event: every caller that may send it may also read its result, so any of them
 * may learn that it is a repeat.
 */
export const UNCLASSIFIED: Classification = 'Public';

const SENT_BYTES = 32;

export function fingerprintOf(
  tenant: TenantRecord,
  caller: Caller,
  ...sent: readonly (string | Uint8Array)[]
): Uint8Array {
  return Buffer.concat([hmacOf(tenant.fingerprintKey, ...sent), callerFingerprint(tenant, caller)]);
}

const BLOCK_BYTES = 64;

/** HMAC-SHA-256 (RFC 2104) by two hashes: an Hmac of Node takes ten times as long to make. A key is shorter than a block. */
function hmacOf(key: Uint8Array, ...parts: readonly (string | Uint8Array)[]): Uint8Array {
  const message = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part));
  const inner = hash('sha256', Buffer.concat([padded(key, 0x36), ...message]), 'buffer');
  return hash('sha256', Buffer.concat([padded(key, 0x5c), inner]), 'buffer');
}

function padded(key: Uint8Array, byte: number): Uint8Array {
  const block = new Uint8Array(BLOCK_BYTES).fill(byte);
  for (let i = 0; i < key.length; i++) block[i]! ^= key[i]!;
  return block;
}

/**
 * Whether this is a repeat, as far as its caller may know. Everything is compared, also after the first difference, so that
 * a right guess takes as long as a wrong one.
 */
export function isRepeat(first: First, again: Again): boolean {
  if (first.fingerprint === undefined || again.fingerprint === undefined) return false;
  const isSame = areEqual(sentIn(first.fingerprint), sentIn(again.fingerprint));
  const isOwn = areEqual(callerIn(first.fingerprint), callerIn(again.fingerprint));
  const isCleared = CLASSIFICATIONS.indexOf(again.clearance) >= CLASSIFICATIONS.indexOf(first.classification);
  const mayLearn = isOwn || isCleared;
  return isSame && mayLearn;
}

function sentIn(fingerprint: Uint8Array): Uint8Array {
  return fingerprint.subarray(0, SENT_BYTES);
}

/** Nothing in rows of earlier versions, which did not keep it. */
function callerIn(fingerprint: Uint8Array): Uint8Array {
  return fingerprint.subarray(SENT_BYTES);
}

function areEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === SENT_BYTES && one.length === other.length && timingSafeEqual(one, other);
}

/** Made once for many events of one caller in one tenant. */
const callerFingerprints = new WeakMap<Caller, { readonly key: Uint8Array; readonly made: Uint8Array }>();

function callerFingerprint({ fingerprintKey: key }: TenantRecord, caller: Caller): Uint8Array {
  const found = callerFingerprints.get(caller);
  if (found?.key === key) return found.made;
  const made = hmacOf(key, 'caller\n', caller.identity);
  callerFingerprints.set(caller, { key, made });
  return made;
}
