// The statements that write the rows of a pool. The bytes of all rows are sent as one value, and the database splits it
// by offset and length, which is cheaper than a value per row, and needs no temporary table.

import { ENTRY_BYTES, HASH_BYTES } from '@tallystick/evidence';
import { SEEDS_BYTES } from '../../pool/commitments.ts';
import { type Statement, statement } from '../connection/database.ts';

// The bytes of a row, in this order; then the fingerprint, if there is one, and the two texts.
export const LEAF_AT = ENTRY_BYTES;
export const ROOT1_AT = LEAF_AT + HASH_BYTES;
export const ROOT2_AT = ROOT1_AT + HASH_BYTES;
export const SEEDS_AT = ROOT2_AT + HASH_BYTES;
export const REST_AT = SEEDS_AT + SEEDS_BYTES;

const piece = (at: string, length: number | string) => `substring($1::bytea from ${at} for ${length})`;

const INSERT_ENTRIES = `INSERT INTO entries
  (leaf_index, classification, content_month, entry, leaf, root1, root2, tenant_id)
  SELECT leaf_index, classification, content_month, ${piece('at', ENTRY_BYTES)},
    ${piece(`at + ${LEAF_AT}`, HASH_BYTES)}, ${piece(`at + ${ROOT1_AT}`, HASH_BYTES)},
    ${piece(`at + ${ROOT2_AT}`, HASH_BYTES)}`;
const INSERT_CONTENTS = `INSERT INTO contents
  (leaf_index, content_month, seeds, sent_fingerprint, text1, text2, expires_at_ms, decision, key_id, tenant_id)
  SELECT leaf_index, content_month,
    CASE WHEN key_id IS NULL THEN ${piece(`at + ${SEEDS_AT}`, SEEDS_BYTES)} ELSE ''::bytea END,
    CASE WHEN sent > 0 THEN ${piece(`at + ${REST_AT}`, 'sent')} END,
    ${piece(`at + ${REST_AT} + sent`, 'length1')}, ${piece(`at + ${REST_AT} + sent + length1`, 'length2')},
    expires_at_ms, decision, key_id`;
const ROW_COLUMNS =
  'leaf_index, classification, content_month, expires_at_ms, at, sent, length1, length2, decision, key_id';
const INSERT_STREAMS = 'INSERT INTO streams (tenant_id, first_index, stream_id, created_at_ms)';
const KEY_COLUMNS = 'operation, key, fingerprint, classification, expires_at_ms, note, outcomes';
const INSERT_KEYS = `INSERT INTO used_keys (tenant_id, ${KEY_COLUMNS})`;
const OR_REPLACE_KEY = `ON CONFLICT (tenant_id, operation, key) DO UPDATE SET fingerprint = excluded.fingerprint,
  classification = excluded.classification, expires_at_ms = excluded.expires_at_ms, note = excluded.note, outcomes = excluded.outcomes`;

export const FEW_TENANTS = 8;
/** For the statements of many tenants. */
export const PLANNED_FOR_MANY = 'SET LOCAL enable_nestloop = off';

/**
 * The same for many tenants: the database plans for few, and would compare each with each. Plans are kept by statement
 * name, so this one has another name.
 */
const ofMany = ({ text }: Statement) => statement(`/* of many */ ${text}`);

const ROWS_OF_ALL = `unnest($2::text[], $3::bigint[], $4::smallint[], $5::integer[], $6::bigint[], $7::integer[],
  $8::integer[], $9::integer[], $10::integer[], $11::bigint[], $12::text[]) AS row (tenant_id, ${ROW_COLUMNS})`;
const WRITTEN_ROWS = `entry AS (${INSERT_ENTRIES}, tenant_id FROM row), content AS (${INSERT_CONTENTS}, tenant_id FROM row)`;

/** All rows of all tenants, and their heads. */
export const WRITE = statement(
  `WITH row AS MATERIALIZED (SELECT * FROM ${ROWS_OF_ALL}), ${WRITTEN_ROWS}, stream AS (
     ${INSERT_STREAMS}
     SELECT * FROM unnest($13::text[], $14::bigint[], $15::text[], $16::bigint[])
   ), used_key AS (
     ${INSERT_KEYS}
     SELECT * FROM unnest($17::text[], $18::text[], $19::text[], $20::bytea[], $21::smallint[], $22::bigint[], $23::text[],
       $24::bytea[])
     ${OR_REPLACE_KEY}
   ), head AS (
     UPDATE heads SET next_index = moved.next_index, leaf = moved.leaf
     FROM unnest($25::text[], $26::bigint[], $27::bytea[], $28::bigint[], $29::bytea[])
       AS moved (tenant_id, from_index, from_leaf, next_index, leaf)
     WHERE heads.tenant_id = moved.tenant_id AND heads.next_index = moved.from_index
       AND heads.leaf IS NOT DISTINCT FROM moved.from_leaf AND heads.tenant_id = ANY($25)
     RETURNING 1
   ) SELECT count(*) AS moved FROM head`,
);
export const WRITE_MANY = ofMany(WRITE);

/** Of an entry, in which SQL counts from 1; the generated column `event_id` is the same. */
const EVENT_ID_AT = 36;
const EVENT_ID_BYTES = 16;

/** Tenants of which a client sent an id or a key that is in use. LIMIT forces separate lookups: a join might scan everything. */
const TAKEN = `SELECT sent.tenant_id FROM unnest($2::text[], $7::integer[], $8::integer[]) AS sent (tenant_id, at, length)
     JOIN LATERAL (SELECT 1 FROM entries WHERE entries.tenant_id = sent.tenant_id
       AND entries.event_id = ${piece(`sent.at + ${EVENT_ID_AT}`, EVENT_ID_BYTES)} LIMIT 1) AS found ON true
   WHERE sent.length > 0
   UNION ALL SELECT used.tenant_id FROM unnest($22::text[], $23::text[], $24::text[]) AS used (tenant_id, operation, key)
     JOIN LATERAL (SELECT 1 FROM used_keys WHERE used_keys.tenant_id = used.tenant_id
       AND used_keys.operation = used.operation AND used_keys.key = used.key LIMIT 1) AS found ON true`;

/** Keys that seal contents of these rows, locked until the commit: nobody closes one meanwhile. */
const OPEN_KEYS = `SELECT key_id FROM tenant_keys
     WHERE tenant_id = ANY ($17::text[]) AND key_id = ANY ($12::text[]) AND state = 'Open' FOR SHARE`;
/** Tenants with a content under a key that takes no new content any more. */
const CLOSED = `SELECT sealed.tenant_id FROM unnest($2::text[], $12::text[]) AS sealed (tenant_id, key_id)
   WHERE key_id IS NOT NULL AND key_id NOT IN (SELECT key_id FROM open_key)`;

/**
 * The same without a lock before: a log is locked here, if its head is as expected and no other transaction holds it.
 * Nothing is written to the others, nor where an id or a key is taken: whether that is a repeat is decided with locked heads.
 * Ids and keys that another transaction has stored since this statement began were stored with a lock: either the head
 * has moved, or a unique key refuses the whole statement. Returns the tenants that were written. Heads are looked up with
 * an additional condition: otherwise the database would not know that they are few.
 */
export const WRITE_AT_ONCE = statement(
  `WITH open_key AS MATERIALIZED (
     ${OPEN_KEYS}
   ), taken AS MATERIALIZED (
     ${TAKEN} UNION ALL ${CLOSED}
   ), moved AS MATERIALIZED (
     SELECT * FROM unnest($17::text[], $18::bigint[], $19::bytea[], $20::bigint[], $21::bytea[])
       AS moved (tenant_id, from_index, from_leaf, next_index, leaf)
     WHERE moved.tenant_id NOT IN (SELECT tenant_id FROM taken)
   ), locked AS MATERIALIZED (
     SELECT heads.tenant_id FROM heads JOIN moved ON moved.tenant_id = heads.tenant_id
       AND heads.next_index = moved.from_index AND heads.leaf IS NOT DISTINCT FROM moved.from_leaf
     WHERE heads.tenant_id = ANY($17) FOR UPDATE OF heads SKIP LOCKED
   ), row AS MATERIALIZED (
     SELECT row.* FROM ${ROWS_OF_ALL} JOIN locked ON locked.tenant_id = row.tenant_id
   ), ${WRITTEN_ROWS}, stream AS (
     ${INSERT_STREAMS}
     SELECT stream.* FROM unnest($13::text[], $14::bigint[], $15::text[], $16::bigint[])
       AS stream (tenant_id, first_index, stream_id, created_at_ms)
     JOIN locked ON locked.tenant_id = stream.tenant_id
   ), used_key AS (
     ${INSERT_KEYS}
     SELECT used.* FROM unnest($22::text[], $23::text[], $24::text[], $25::bytea[], $26::smallint[], $27::bigint[],
       $28::text[], $29::bytea[]) AS used (tenant_id, ${KEY_COLUMNS})
     JOIN locked ON locked.tenant_id = used.tenant_id
   ), head AS (
     UPDATE heads SET next_index = moved.next_index, leaf = moved.leaf
     FROM moved JOIN locked ON locked.tenant_id = moved.tenant_id
     WHERE heads.tenant_id = moved.tenant_id AND heads.tenant_id = ANY($17)
     RETURNING heads.tenant_id
   ) SELECT tenant_id FROM head`,
);
export const WRITE_MANY_AT_ONCE = ofMany(WRITE_AT_ONCE);

// For distributed tables: one tenant, one statement per table. The insert is joined with the head, which shows the
// database that everything happens on one machine; otherwise it would gather the rows and send them by COPY, which
// row-level security does not allow.

const ROWS = `heads, unnest($3::bigint[], $4::smallint[], $5::integer[], $6::bigint[], $7::integer[], $8::integer[],
  $9::integer[], $10::integer[], $11::bigint[], $12::text[]) AS row (${ROW_COLUMNS}) WHERE heads.tenant_id = $2`;

export const WRITE_ENTRIES = statement(`${INSERT_ENTRIES}, heads.tenant_id FROM ${ROWS}`);
export const WRITE_CONTENTS = statement(`${INSERT_CONTENTS}, heads.tenant_id FROM ${ROWS}`);
export const WRITE_STREAMS = statement(
  `${INSERT_STREAMS} SELECT heads.tenant_id, first_index, stream_id, created_at_ms
   FROM heads, unnest($2::bigint[], $3::text[], $4::bigint[]) AS stream (first_index, stream_id, created_at_ms)
   WHERE heads.tenant_id = $1`,
);
/** Texts by their numbers; those that are there stay. */
export const WRITE_DECISIONS = statement(
  `INSERT INTO decisions (tenant_id, decision, body) SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])
   ON CONFLICT DO NOTHING`,
);
export const WRITE_DECISIONS_OF_ONE = statement(
  `INSERT INTO decisions (tenant_id, decision, body)
   SELECT heads.tenant_id, decision, body FROM heads, unnest($2::bigint[], $3::text[]) AS decided (decision, body)
   WHERE heads.tenant_id = $1 ON CONFLICT DO NOTHING`,
);
export const WRITE_KEYS = statement(
  `${INSERT_KEYS} SELECT heads.tenant_id, ${KEY_COLUMNS}
   FROM heads, unnest($2::text[], $3::text[], $4::bytea[], $5::smallint[], $6::bigint[], $7::text[], $8::bytea[])
     AS used (${KEY_COLUMNS})
   WHERE heads.tenant_id = $1 ${OR_REPLACE_KEY}`,
);
export const MOVE_HEAD = statement(
  `UPDATE heads SET next_index = $4, leaf = $5
   WHERE tenant_id = $1 AND next_index = $2 AND leaf IS NOT DISTINCT FROM $3`,
);
