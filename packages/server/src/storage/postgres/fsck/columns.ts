// What of the tables of the database is evidence, and why the rest is not. A table that comes new to the schema must find its
// place here; tests/faults/tamper-postgres.test.ts goes red until it does.

import { type EvidenceColumns, NEVER_EVIDENCE, type NotEvidence } from '../../fsck/evidence-columns.ts';

export const EVIDENCE_COLUMNS: EvidenceColumns = {
  meta: { value: 'that of `log_origin`: the name is in the genesis of every log, and in every checkpoint' },
  tenants: { tenant_id: 'the name is in the genesis of the log, and in its checkpoints' },
  heads: {
    tenant_id: 'the log of the tenant',
    next_index: 'the number of the entries',
    leaf: 'the last leaf',
  },
  entries: {
    tenant_id: 'the chain of the tenant that it is in',
    leaf_index: 'the index in the entry',
    classification: 'the text, as long as it is there',
    content_month: 'the content of that month: it fits no other entry',
    entry: 'the leaf, the chain, the root that was signed',
    event_id: 'a piece of the entry, made by the database: nobody can write it',
    leaf: 'the hash of the entry',
    root1: 'the text and its seed, and the content hash in the entry',
    root2: 'the text and its seed, and the content hash in the entry',
  },
  contents: {
    tenant_id: 'the entry of that tenant: it fits no other',
    leaf_index: 'the entry of that index: it fits no other',
    content_month: 'the month that the entry says',
    text1: 'the content hash in the entry',
    text2: 'the content hash in the entry',
    seeds: 'the content hash in the entry',
    key_id: 'must be null: nothing is sealed',
  },
  records: {
    tenant_id: 'the log that the notice is in',
    kind: 'what the notice is about',
    id: 'what the notice is about',
    version: 'the body',
    body: 'the commitment in its newest notice',
    state: 'the body',
    unique_name: 'the body',
    lookup: 'the body',
    salt: 'the commitment in its newest notice',
  },
  streams: {
    tenant_id: 'seal notices of the tenant',
    first_index: 'the seal notice before it; 0 for the first one',
    stream_id: 'the seal notices before and at its end',
    created_at_ms: 'when the seal notice before it, or the first entry, was received',
  },
  checkpoints: {
    tenant_id: 'the origin in the note',
    epoch: 'the origin in the note',
    size: 'the size in the note',
    note: 'its signatures, and the recomputed root',
  },
  tile_hashes: {
    tenant_id: 'the recomputed tree',
    epoch: 'the recomputed tree',
    level: 'the recomputed tree',
    place: 'the recomputed tree',
    hash: 'the recomputed tree',
  },
  epochs: {
    tenant_id: 'the genesis of the log',
    epoch: 'the origin of the log',
    first_index: 'the chain, which ends before it and begins anew',
    previous_checkpoint: 'the genesis of the log, its first notice, and the anchor',
  },
};

const OF_THE_INDEX = 'a part of the index of events, which is made from the log, and can be made again';

export const NOT_EVIDENCE: NotEvidence = {
  ...NEVER_EVIDENCE,
  'heads.share': 'which node looks after the log; the database makes it of the name',
  'entries.content_month (content purged)': 'where a content was that is gone',
  nodes: 'processes that serve now',
  leases: 'which of them looks after which logs',
  refused_logs: 'what they have found; whoever verifies finds it again',
  views: OF_THE_INDEX,
  docs: OF_THE_INDEX,
  view_keys: OF_THE_INDEX,
  view_counts: OF_THE_INDEX,
  rebuilds: OF_THE_INDEX,
  dead_letters: OF_THE_INDEX,
  'pages and indexes (of the database itself)': 'for pg_amcheck and the checksums of PostgreSQL',
};
