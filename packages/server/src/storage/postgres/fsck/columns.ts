// What of the tables of the database is evidence, and why the rest is not. A table that comes new to the schema must find its
// place here; tests/faults/tamper-postgres.test.ts goes red until it does.

import type { EvidenceColumns, NotEvidence } from '../../fsck/evidence-columns.ts';

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
  'meta.name': 'the names of settings; without `log_origin` nothing can be verified',
  'meta.value (all but log_origin)': 'facts about the installation that no log speaks of',
  'tenants.tier': 'how the tenant is treated, not what was logged',
  'tenants.region': 'how the tenant is treated, not what was logged',
  'tenants.status': 'how the tenant is treated, not what was logged',
  'tenants.default_classification': 'for events to come; those accepted have theirs in the text',
  'tenants.default_retention': 'for events to come; what is purged is purged under a notice',
  'tenants.fingerprint_key': 'recognises repeated requests',
  'tenants.created_at_ms': 'no log speaks of it',
  'tenants.updated_at_ms': 'no log speaks of it',
  'heads.share': 'which node looks after the log; the database makes it of the name',
  'entries.classification (content purged)': 'who might see what is gone for everybody',
  'entries.content_month (content purged)': 'where a content was that is gone',
  'contents.seeds (of an empty group)': 'salts of units that are not there',
  'contents.sent_fingerprint': 'recognises repeated requests',
  'contents.expires_at_ms': 'when the content may be purged, which never happens without a notice',
  'streams.stream_id (first of a log, not sealed)': 'no notice names it before one seals it',
  'checkpoints.published_at_ms': 'when it was stored; a checkpoint says nothing of time',
  'checkpoints.note (cosignatures)': 'for whoever holds the keys of the witnesses',
  api_keys: 'who may ask; changes of keys are notices in the log',
  used_keys: 'recognises repeated requests, for a day',
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
