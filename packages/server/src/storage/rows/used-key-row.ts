// A row of `used_keys`, and what it answers to a request that comes with the key again.

import { timingSafeEqual } from 'node:crypto';
import type { Once, UsedKey } from '../../streams/log.ts';
import { decodeOutcomes } from '../pool/outcomes.ts';
import type { KeyAnswer } from '../pool/pool-tables.ts';
import { blobOf, numberOf, textIn } from './columns.ts';

/** Undefined when there is no row, or its window has ended. */
export function usedKeyOf(
  row: Readonly<Record<string, unknown>> | undefined,
  steadyNowMs: number,
): UsedKey | undefined {
  if (row === undefined) return undefined;
  const expiresAtMs = numberOf(row, 'expires_at_ms');
  if (expiresAtMs <= steadyNowMs) return undefined;
  return {
    fingerprint: blobOf(row, 'fingerprint'),
    expiresAtMs,
    note: textIn(row, 'note'),
    outcomes: decodeOutcomes(blobOf(row, 'outcomes')),
  };
}

export function keyAnswer(used: UsedKey, once: Once): KeyAnswer {
  const isSame = isSameFingerprint(used.fingerprint, once.fingerprint);
  return isSame ? { status: 'Repeated', used } : { status: 'KeyReused' };
}

/** What has no fingerprint is like nothing else. */
export function isSameFingerprint(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a.length === b.length && timingSafeEqual(a, b);
}
