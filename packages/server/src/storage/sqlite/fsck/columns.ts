// What of the tables of journal.db is evidence, and why the rest is not. A table that comes new to the schema must find its
// place here; tests/faults/tamper.test.ts goes red until it does.

import { type EvidenceColumns, NEVER_EVIDENCE, type NotEvidence } from '../../fsck/evidence-columns.ts';

export const EVIDENCE_COLUMNS: EvidenceColumns = {
  meta: { value: 'that of `log_origin`: the name is in the genesis of every log, and in every checkpoint' },
  tenants: {
    tenant: 'the number that all rows of the tenant bear',
    tenant_id: 'the name is in the genesis of the log, and in its checkpoints',
  },
  entries: {
    tenant: 'the chain of the tenant that it is in',
    leaf_index: 'the index in the entry',
    classification: 'the text, as long as it is there',
    entry: 'the leaf, the chain, the root that was signed',
    event_id: 'a piece of the entry; the index over it, by the integrity check of SQLite',
    leaf: 'the hash of the entry',
    root1: 'the text and its seed, and the content hash in the entry',
    root2: 'the text and its seed, and the content hash in the entry',
  },
  contents: {
    id: 'the entry with that id: it fits no other',
    text1: 'the content hash in the entry',
    text2: 'the content hash in the entry',
    seeds: 'the content hash in the entry',
    key_id: 'must be null: nothing is sealed',
  },
  records: {
    tenant: 'the log that the notice is in',
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
    tenant: 'seal notices of the tenant',
    first_index: 'the seal notice before it; 0 for the first one',
    stream_id: 'the seal notices before and at its end',
    created_at_ms: 'when the seal notice before it, or the first entry, was received',
  },
  checkpoints: {
    tenant: 'the origin in the note',
    epoch: 'the origin in the note',
    size: 'the size in the note',
    note: 'its signatures, and the recomputed root',
  },
  tile_hashes: {
    tenant: 'the recomputed tree',
    epoch: 'the recomputed tree',
    level: 'the recomputed tree',
    place: 'the recomputed tree',
    hash: 'the recomputed tree',
  },
  epochs: {
    tenant: 'the genesis of the log',
    epoch: 'the origin of the log',
    first_index: 'the chain, which ends before it and begins anew',
    previous_checkpoint: 'the genesis of the log, its first notice, and the anchor',
  },
};

export const NOT_EVIDENCE: NotEvidence = {
  ...NEVER_EVIDENCE,
  'entries.id': 'ties an entry to its content, which fits no other entry; the number itself says nothing',
};
