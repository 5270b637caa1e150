// A row of `used_keys`.

import type { UsedIdempotencyKey } from '../../streams/log.ts';
import { decodeOutcomes } from '../pool/outcomes.ts';
import { classificationIn } from './classification-column.ts';
import { blobOf, numberOf, textIn } from './columns.ts';

/** Undefined if there is no row, or its window has ended. */
export function usedKeyOf(
  row: Readonly<Record<string, unknown>> | undefined,
  steadyNowMs: number,
): UsedIdempotencyKey | undefined {
  if (row === undefined) return undefined;
  const expiresAtMs = numberOf(row, 'expires_at_ms');
  if (expiresAtMs <= steadyNowMs) return undefined;
  return {
    fingerprint: blobOf(row, 'fingerprint'),
    classification: classificationIn(row),
    expiresAtMs,
    note: textIn(row, 'note'),
    outcomes: decodeOutcomes(blobOf(row, 'outcomes')),
  };
}
