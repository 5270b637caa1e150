// The rows of an event in PostgreSQL and its index entries, by prepared statements alone: one for each table and commit, as
// the owner of the tables, to whom no row policy applies. Their parameters are made beforehand, and are not in the time.

import { Client } from 'pg';
import { bigints, byteas } from '../packages/server/src/storage/postgres/connection/binary-arrays.ts';
import { SCHEMA } from '../packages/server/src/storage/postgres/connection/database.ts';
import { DocColumns } from '../packages/server/src/storage/postgres/event-index/doc-columns.ts';
import { provision } from '../packages/server/src/storage/postgres/schema/provision.ts';
import { POSTGRES } from './backends.ts';
import { type Made, TERMS_PREFIX } from './made-rows.ts';

/** Of a commit. */
const PORTION = 1000;
const CONTENT_MONTH = 0;

const ENTRIES = `INSERT INTO entries (tenant_id, leaf_index, classification, content_month, entry, leaf, root1, root2)
  SELECT 'reading', leaf_index, 1, ${CONTENT_MONTH}, entry, hash, hash, hash
  FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) AS new (leaf_index, entry, hash)`;
const CONTENTS = `INSERT INTO contents (tenant_id, leaf_index, content_month, text1, text2, seeds)
  SELECT 'reading', leaf_index, ${CONTENT_MONTH}, text1, text2, seeds
  FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bytea[]) AS new (leaf_index, text1, text2, seeds)`;
const DOCS = `INSERT INTO docs (tenant_id, generation, leaf_index, event_id, at_ms, at_ns, classification, kind, outcome,
    actor_type, action, actor, resource_type, terms)
  SELECT 'reading', 1, * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::integer[], $5::smallint[],
    $6::smallint[], $7::smallint[], $8::smallint[], $9::text[], $10::text[], $11::text[], $12::tsvector[])`;

/** How many events a second are written to a log and to an index. */
export async function rawInserts(rows: readonly Made[]): Promise<number> {
  await using opened = await POSTGRES.open();
  const { url } = opened.postgres!;
  await provision({ url, ownerUrl: undefined });
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`SET search_path = ${SCHEMA}`);
  await client.query('SELECT ensure_content_month($1)', [CONTENT_MONTH]);
  let tookMs = 0;
  for (let at = 0; at < rows.length; at += PORTION) {
    const portion = rows.slice(at, at + PORTION);
    const statements = [
      { name: 'entries', text: ENTRIES, values: entriesOf(portion, at) },
      { name: 'contents', text: CONTENTS, values: contentsOf(portion, at) },
      { name: 'docs', text: DOCS, values: docsOf(portion, at) },
    ];
    const beganAt = performance.now();
    await client.query('BEGIN');
    for (const statement of statements) await client.query(statement);
    await client.query('COMMIT');
    tookMs += performance.now() - beganAt;
  }
  await client.end();
  return (1000 * rows.length) / tookMs;
}

function entriesOf(portion: readonly Made[], at: number): Buffer[] {
  return sent([
    indexes(portion, at),
    byteas(portion.map(({ entry }) => entry)),
    byteas(portion.map(({ hash }) => hash)),
  ]);
}

function contentsOf(portion: readonly Made[], at: number): Buffer[] {
  return sent([
    indexes(portion, at),
    byteas(portion.map(({ texts }) => texts[0])),
    byteas(portion.map(({ texts }) => texts[1])),
    byteas(portion.map(({ hash }) => hash)),
  ]);
}

function docsOf(portion: readonly Made[], at: number): Buffer[] {
  const columns = new DocColumns();
  for (const [i, { entry, document, event }] of portion.entries()) {
    const { action, resource } = event;
    const eventId = entry.subarray(36, 52);
    const facts = { classification: 1, kind: 0, action, resourceType: resource.resourceType };
    columns.add({ view: 0, index: at + i, eventId, document, ...facts }, TERMS_PREFIX);
  }
  return sent(columns.take());
}

function indexes(portion: readonly Made[], at: number): Uint8Array {
  return bigints(portion.map((_, i) => at + i));
}

/** The driver sends as bytes only what comes as a Buffer. */
function sent(values: readonly Uint8Array[]): Buffer[] {
  return values.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength));
}
