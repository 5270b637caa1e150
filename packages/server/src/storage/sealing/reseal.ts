// What is stored of a content without the units that a redaction deletes: one that is sealed is opened, and sealed again.

import { punctured, type UnitColumns } from '../rows/punctured.ts';
import type { Redaction } from '../rows/redaction-notice.ts';
import { sealedFaultIn, type SealedRows } from './sealed-rows.ts';
import type { Nonces } from './boxes.ts';
import { UnusableKey } from './keyring.ts';

export interface Resealing {
  readonly sealed: SealedRows;
  /** By key, stored as taken; used for nothing else. */
  readonly nonces: ReadonlyMap<string, Nonces>;
}

const NO_BYTES = new Uint8Array(0);

/** `row` is as it was read, with SEALED_COLUMNS; undefined if nothing changes. */
export function puncturedContent(
  row: Readonly<Record<string, unknown>>,
  redaction: Redaction,
  { sealed, nonces }: Resealing,
): (Omit<UnitColumns, 'closed'> & { readonly closed: Uint8Array | null }) | undefined {
  const opened = sealed.open(row);
  const fault = sealedFaultIn(opened);
  if (fault !== undefined) throw new UnusableKey(`event ${redaction.eventId} cannot be redacted: ${fault}`);
  const left = punctured(opened, redaction);
  if (left === undefined) return undefined;
  const { closed } = left;
  const keyId = row['key_id'];
  if (typeof keyId !== 'string') return { ...left, closed: closed ?? null };
  const own = nonces.get(keyId);
  if (own === undefined) throw new Error(`no nonces were taken for the data key ${keyId}`);
  const text1 = sealed.reseal(row, { ...left, closed }, own);
  return { text1, text2: NO_BYTES, seeds: NO_BYTES, closed: null };
}
