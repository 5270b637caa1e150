// The table of the keys of tenants, in the catalogue: sealed with what is in no table. A row is never removed: its key is.

import type { Table } from './table.ts';

const SEALED_FOR = 'what the key is sealed for';

export const TENANT_KEYS = {
  of: 'Tenant',
  rights: {
    Writer: ['SELECT', 'INSERT', 'UPDATE'],
    Reader: ['SELECT'],
    Projector: ['SELECT'],
    Retention: ['SELECT'],
    Verifier: ['SELECT'],
  },
  key: ['tenant_id', 'key_id'],
  columns: {
    tenant_id: { type: 'text!', evidence: SEALED_FOR },
    key_id: { type: 'text!', evidence: SEALED_FOR },
    purpose: { type: 'text!', evidence: SEALED_FOR },
    month: { type: 'integer!', evidence: SEALED_FOR },
    state: { type: 'text!', not: 'whether new content is sealed with it' },
    over_id: { type: 'text!', evidence: 'the key that it opens with' },
    sealed: { type: 'bytea!', evidence: 'the keyring, which opens it' },
    ring_key: { type: 'text!', evidence: 'the name in the sealed key' },
    blocks: { type: 'bigint!', not: 'the next block of nonces, unless the time is behind it' },
    created_at_ms: { type: 'bigint!', not: 'no log speaks of it' },
  },
} as const satisfies Table;
