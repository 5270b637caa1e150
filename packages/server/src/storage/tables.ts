// The catalogue of tables of both backends: columns, rights on PostgreSQL, whether a table is copied, and which of it
// is evidence. Rights, copies and the store verifier are derived from it, so that a new table cannot be forgotten in
// one of them. Columns have the same names in both backends, except that SQLite refers to a tenant by number. Evidence
// is everything that the verifier recomputes from the entries, or compares with signed data: a change is found.
// Everything else is named in its report, so that "verified" is not taken for more than it says.

import type { Backend, Column, Right, Table } from './table.ts';
import { TENANT_KEYS } from './tenant-keys-table.ts';
import { WORK_TABLES } from './work-tables.ts';

const READ: readonly Right[] = ['SELECT'];
const ADD: readonly Right[] = ['SELECT', 'INSERT'];
const CHANGE: readonly Right[] = ['SELECT', 'INSERT', 'UPDATE'];
const ALL: readonly Right[] = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

const REPEATS = 'recognises repeated requests';
const CONTENT_HASH = 'the content hash in the entry';
const ROOTS = 'the text and its seed, and the content hash in the entry';
const RECOMPUTED = 'the recomputed tree';

const tenantBy = (evidence: string): Column => ({ type: 'text!', evidence });

const recordBy = (evidence: string) =>
  ({
    tenant_id: tenantBy('the log that the notice is in'),
    kind: { type: 'text!', evidence: 'what the notice is about' },
    id: { type: 'text!', evidence: 'what the notice is about' },
    version: { type: 'bigint!', evidence: 'the body' },
    body: { type: 'text!', evidence },
    state: { type: 'text!', evidence: 'the body' },
    unique_name: { type: 'text', evidence: 'the body' },
    lookup: { type: 'bytea', evidence: 'the body' },
    salt: { type: 'bytea!', evidence },
    mac: { type: 'bytea!', not: 'for the service, which has the key; the notices say more' },
  }) as const satisfies Table['columns'];

export const TABLES = {
  meta: {
    of: 'Installation',
    rights: {
      Writer: CHANGE,
      Reader: READ,
      Projector: READ,
      Retention: READ,
      Verifier: READ,
    },
    unique: ['name'],
    columns: {
      name: { type: 'text!', not: 'the names of settings; without `log_origin` nothing can be verified' },
      value: {
        type: 'text!',
        evidence: 'that of `log_origin`: the name is in the genesis of every log, and in every checkpoint',
      },
    },
  },
  nodes: {
    of: 'Installation',
    only: 'PostgreSQL',
    rights: { Projector: ALL },
    not: 'processes that serve now',
  },
  leases: {
    of: 'Installation',
    only: 'PostgreSQL',
    rights: { Projector: ['SELECT', 'UPDATE'] },
    not: 'which of them looks after which logs',
  },
  tenants: {
    of: 'Tenant',
    rights: {
      Writer: CHANGE,
      Reader: READ,
      Projector: READ,
      Verifier: ['SELECT (tenant_id, index_key)'],
    },
    key: ['tenant_id'],
    columns: {
      tenant: { type: 'bigint!', evidence: 'the number that all rows of the tenant bear', only: 'SQLite' },
      tenant_id: tenantBy('the name is in the genesis of the log, and in its checkpoints'),
      fingerprint_key: { type: 'bytea!', not: REPEATS },
      kept_index_key: { type: 'bytea', not: 'opens the index of events' },
      index_key: { type: 'bytea!=', not: 'opens the index of events', only: 'PostgreSQL', isMade: true },
      created_at_ms: { type: 'bigint!', not: 'no log speaks of it' },
    },
  },
  records: {
    of: 'Tenant',
    rights: { Writer: CHANGE, Reader: READ, Projector: READ, Verifier: READ },
    key: ['tenant_id', 'kind', 'id'],
    place: 'version',
    columns: recordBy('the commitment in its newest notice'),
  },
  past_records: {
    of: 'Tenant',
    rights: { Writer: ADD, Reader: READ, Projector: READ, Verifier: READ },
    key: ['tenant_id', 'kind', 'id', 'version'],
    place: 'version',
    columns: recordBy('the commitment in its notice'),
  },
  api_keys: {
    of: 'Tenant',
    rights: { Writer: ['SELECT', 'DELETE'], Reader: READ, Projector: READ },
    not: 'keys from before there were records; none of them counts',
  },
  api_key_uses: {
    of: 'Tenant',
    rights: { Reader: READ, Projector: CHANGE },
    not: 'when keys were last used, which grants nothing',
    key: ['tenant_id', 'key_id'],
    columns: { tenant_id: { type: 'text!' }, key_id: { type: 'text!' }, used_at_ms: { type: 'bigint!' } },
  },
  epochs: {
    of: 'Tenant',
    rights: { Writer: ADD, Reader: READ, Projector: READ, Verifier: READ },
    key: ['tenant_id', 'epoch'],
    place: 'first_index',
    columns: {
      tenant_id: tenantBy('the genesis of the log'),
      epoch: { type: 'integer!', evidence: 'the origin of the log' },
      first_index: { type: 'bigint!', evidence: 'the chain, which ends before it and begins anew' },
      previous_checkpoint: {
        type: 'text!',
        evidence: 'the genesis of the log, its first notice, and the anchor',
      },
    },
  },
  streams: {
    of: 'Tenant',
    rights: {
      Writer: ADD,
      Reader: READ,
      Projector: READ,
      Retention: ['SELECT', 'UPDATE (purged_at_ms)'],
      Verifier: READ,
    },
    key: ['tenant_id', 'first_index'],
    unique: ['tenant_id, first_index', 'tenant_id, stream_id'],
    place: 'first_index',
    columns: {
      tenant_id: tenantBy('seal notices of the tenant'),
      first_index: { type: 'bigint!', evidence: 'the seal notice before it; 0 for the first one' },
      stream_id: { type: 'text!', evidence: 'the seal notices before and at its end' },
      created_at_ms: {
        type: 'bigint!',
        evidence: 'when the seal notice before it, or the first entry, was received',
      },
      purged_at_ms: { type: 'bigint', not: 'when all content was found gone; that it is gone is compared' },
    },
  },
  entries: {
    of: 'Tenant',
    rights: { Writer: ADD, Reader: READ, Projector: READ, Retention: READ, Verifier: READ },
    key: ['tenant_id', 'leaf_index'],
    unique: ['tenant_id, SUBSTRING(entry FROM 53 FOR 32)', 'tenant_id, event_id', 'tenant_id, leaf_index'],
    place: 'leaf_index',
    columns: {
      id: {
        type: 'bigint!',
        not: 'ties an entry to its content, which fits no other entry; the number itself says nothing',
        only: 'SQLite',
      },
      tenant_id: tenantBy('the chain of the tenant that it is in'),
      leaf_index: { type: 'bigint!', evidence: 'the index in the entry' },
      classification: { type: 'smallint!', evidence: 'the text, as long as it is there' },
      content_month: {
        type: 'integer!',
        evidence: 'the content of that month: it fits no other entry',
        only: 'PostgreSQL',
        isMade: true,
      },
      entry: { type: 'bytea!', evidence: 'the leaf, the chain, the root that was signed' },
      event_id: { type: 'bytea!=', evidence: 'a piece of the entry, made by the database', isMade: true },
      leaf: { type: 'bytea!', evidence: 'the hash of the entry' },
      root1: { type: 'bytea!', evidence: ROOTS },
      root2: { type: 'bytea!', evidence: ROOTS },
    },
  },
  decisions: {
    of: 'Tenant',
    rights: { Writer: ADD, Reader: READ, Projector: READ, Verifier: READ },
    key: ['tenant_id', 'decision'],
    columns: {
      tenant_id: tenantBy('the events of the tenant that refer to it'),
      decision: { type: 'bigint!', evidence: 'the hash of the text' },
      body: {
        type: 'text!',
        evidence: 'what the policies and settings in force decide about the events that refer to it',
      },
    },
  },
  contents: {
    of: 'Tenant',
    rights: {
      Writer: ADD,
      Reader: READ,
      Projector: READ,
      Retention: ['SELECT', 'DELETE', 'UPDATE (text1, text2, seeds, closed, sent_fingerprint)'],
      Verifier: READ,
    },
    key: ['tenant_id', 'leaf_index'],
    unique: ['tenant_id, leaf_index, content_month'],
    place: 'leaf_index',
    columns: {
      id: { type: 'bigint!', evidence: 'the entry with that id: it fits no other', only: 'SQLite' },
      tenant_id: { ...tenantBy('the entry of that tenant: it fits no other'), only: 'PostgreSQL' },
      leaf_index: {
        type: 'bigint!',
        evidence: 'the entry of that index: it fits no other',
        only: 'PostgreSQL',
      },
      content_month: {
        type: 'integer!',
        evidence: 'the month that the entry says',
        only: 'PostgreSQL',
        isMade: true,
      },
      text1: { type: 'bytea!', evidence: CONTENT_HASH },
      text2: { type: 'bytea!', evidence: CONTENT_HASH },
      seeds: { type: 'bytea!', evidence: CONTENT_HASH },
      closed: {
        type: 'bytea',
        evidence: 'the content hash in the entry, and the redaction notices of the event',
      },
      key_id: { type: 'text', evidence: 'the box, which opens with no other key' },
      sent_fingerprint: { type: 'bytea', not: REPEATS },
      expires_at_ms: {
        type: 'bigint',
        evidence: 'when it was received, and the retention that the policies and settings in force decide',
      },
      decision: {
        type: 'bigint',
        evidence: 'what the policies and settings in force decide about the event',
      },
    },
  },
  tenant_keys: TENANT_KEYS,
  // The removed spans with their notices: written with the notice, and found by the index of an event. Never changed.
  deletions: {
    of: 'Tenant',
    rights: { Writer: ADD, Reader: READ, Projector: READ, Verifier: READ },
    key: ['tenant_id', 'first_index'],
    place: 'first_index',
    columns: {
      tenant_id: tenantBy('the log that the notice is in'),
      first_index: { type: 'bigint!', evidence: 'a range of the purge notice' },
      end_index: { type: 'bigint!', evidence: 'a range of the purge notice' },
      notice_index: { type: 'bigint!', evidence: 'the index of the purge notice' },
    },
  },
  // The events that have lost single units, with their notices: as above.
  redactions: {
    of: 'Tenant',
    rights: { Writer: ADD, Reader: READ, Projector: READ, Verifier: READ },
    key: ['tenant_id', 'leaf_index', 'notice_index'],
    place: 'leaf_index',
    columns: {
      tenant_id: tenantBy('the log that the notice is in'),
      leaf_index: { type: 'bigint!', evidence: 'the event that the redaction notice names' },
      notice_index: { type: 'bigint!', evidence: 'the index of the redaction notice' },
    },
  },
  checkpoints: {
    of: 'Tenant',
    // A checkpoint gains signatures, so its row is updated; the code and the verifier check that.
    rights: { Writer: READ, Reader: READ, Projector: CHANGE, Verifier: READ },
    key: ['tenant_id', 'epoch', 'size'],
    place: 'size',
    columns: {
      tenant_id: tenantBy('the origin in the note'),
      epoch: { type: 'integer!', evidence: 'the origin in the note' },
      size: { type: 'bigint!', evidence: 'the size in the note' },
      note: { type: 'text!', evidence: 'its signatures, and the recomputed root' },
      published_at_ms: {
        type: 'bigint!',
        not: 'when it was stored; a checkpoint says nothing of time',
      },
    },
  },
  tile_hashes: {
    of: 'Tenant',
    rights: { Reader: READ, Projector: ADD, Verifier: READ },
    key: ['tenant_id', 'epoch', 'level', 'place'],
    place: 'place',
    columns: {
      tenant_id: tenantBy(RECOMPUTED),
      epoch: { type: 'integer!', evidence: RECOMPUTED },
      level: { type: 'integer!', evidence: RECOMPUTED },
      place: { type: 'bigint!', evidence: RECOMPUTED },
      hash: { type: 'bytea!', evidence: RECOMPUTED },
    },
  },
  used_keys: {
    of: 'Tenant',
    rights: { Writer: ALL, Reader: READ, Projector: ['SELECT', 'DELETE'] },
    not: 'recognises repeated requests, for a day',
    key: ['tenant_id', 'operation', 'key'],
    columns: {
      tenant_id: { type: 'text!' },
      operation: { type: 'text!' },
      key: { type: 'text!' },
      fingerprint: { type: 'bytea!' },
      classification: { type: 'smallint!' },
      expires_at_ms: { type: 'bigint!' },
      note: { type: 'text!' },
      outcomes: { type: 'bytea!' },
    },
  },
  recent_keys: {
    of: 'Tenant',
    only: 'SQLite',
    rights: {},
    not: 'recognises repeated requests; moved to `used_keys` by and by, and copied with those',
  },
  // The end of each log; SQLite derives it from the entries. Copied last.
  heads: {
    of: 'Tenant',
    only: 'PostgreSQL',
    rights: { Writer: CHANGE, Reader: READ, Projector: READ, Verifier: READ },
    key: ['tenant_id'],
    place: 'next_index',
    columns: {
      tenant_id: tenantBy('the log of the tenant'),
      next_index: { type: 'bigint!', evidence: 'the number of the entries' },
      leaf: { type: 'bytea', evidence: 'the last leaf' },
      share: {
        type: 'smallint!=',
        not: 'which node looks after the log; the database makes it of the name',
        isMade: true,
      },
    },
  },
  ...WORK_TABLES,
} as const satisfies Readonly<Record<string, Table>>;

/** The tables of a backend by name. */
export function tablesOf(backend: Backend): [name: string, table: Table][] {
  const all: [string, Table][] = Object.entries(TABLES);
  return all.filter(([, { only }]) => only === undefined || only === backend);
}

/** The columns by their names in the backend. */
export function columnsOf({ columns = {} }: Table, backend: Backend): [name: string, column: Column][] {
  return Object.entries(columns).filter(([, { only }]) => only === undefined || only === backend);
}

/** Tables of evidence whose rows name a tenant, each with the column of the index in the log. */
export function placesOf(backend: Backend): [name: string, place: string][] {
  return tablesOf(backend).flatMap(([name, table]): [string, string][] => {
    const hasTenant = columnsOf(table, backend).some(([column]) => column === 'tenant_id');
    return table.place !== undefined && hasTenant ? [[name, table.place]] : [];
  });
}
