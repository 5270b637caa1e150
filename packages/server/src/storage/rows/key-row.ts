// A row of tenant_keys.

import type { KeyState, StoredKey } from '../sealing/provide-keys.ts';
import { blobOf, ColumnError, numberOf, textIn } from './columns.ts';

const PURPOSES: readonly StoredKey['purpose'][] = ['Tenant', 'Content', 'Secret'];
const STATES: readonly KeyState[] = ['Open', 'Closed', 'Destroyed'];

export function keyIn(row: Readonly<Record<string, unknown>>): StoredKey {
  return {
    keyId: textIn(row, 'key_id'),
    purpose: oneOf(PURPOSES, row, 'purpose'),
    month: numberOf(row, 'month'),
    state: oneOf(STATES, row, 'state'),
    overId: textIn(row, 'over_id'),
    sealed: blobOf(row, 'sealed'),
    ringKey: textIn(row, 'ring_key'),
    createdAtMs: numberOf(row, 'created_at_ms'),
  };
}

function oneOf<T extends string>(
  values: readonly T[],
  row: Readonly<Record<string, unknown>>,
  column: string,
): T {
  const text = textIn(row, column);
  const found = values.find((value) => value === text);
  if (found === undefined) throw new ColumnError(`column ${column} holds ${text}`);
  return found;
}
