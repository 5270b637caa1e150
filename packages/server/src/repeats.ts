// Recognises repeated requests and events, for the callers who may learn of it. A fingerprint (fingerprints.ts) covers
// content and sender, both under a key of the tenant: it says nothing about either to those who lack the key, nor to
// anybody once the key is destroyed. A repeat is recognised for the caller that sent the first, and for callers whose clearance reaches
// the classification of what was stored (policies/repeat-clearance.ts). For everyone else equal content is like any other: otherwise they could guess
// content that they may not read, and see which guess is a repeat.

import { timingSafeEqual } from 'node:crypto';
import { type Classification, CLASSIFICATIONS } from '@tallystick/contract';
import { SENT_BYTES } from './fingerprints.ts';

/** The stored facts of the first request or event. */
export interface First {
  /** Undefined where nothing is left to compare with. */
  readonly fingerprint: Uint8Array | undefined;
  readonly classification: Classification;
}

/** The facts of a request or event that may be a repeat. */
export interface Again {
  readonly fingerprint: Uint8Array | undefined;
  readonly clearance: RepeatClearance;
}

/** Up to which classification a caller learns of the repeats of others; with `None` it learns of its own alone. */
export type RepeatClearance = Classification | 'None';

/**
 * For a request that stores no event: every caller that may send it may also read its result, so any of them
 * may learn that it is a repeat.
 */
export const UNCLASSIFIED: Classification = 'Public';

/**
 * Whether this is a repeat, as far as its caller may know. Everything is compared, also after the first difference, so that
 * a right guess takes as long as a wrong one.
 */
export function isRepeat(first: First, again: Again): boolean {
  if (first.fingerprint === undefined || again.fingerprint === undefined) return false;
  const isSame = areEqual(sentIn(first.fingerprint), sentIn(again.fingerprint));
  const isOwn = areEqual(callerIn(first.fingerprint), callerIn(again.fingerprint));
  const places: readonly RepeatClearance[] = ['None', ...CLASSIFICATIONS];
  const isCleared = places.indexOf(again.clearance) >= places.indexOf(first.classification);
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
