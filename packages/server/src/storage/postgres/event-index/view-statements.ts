// The statements that write into views: docs, keys and counts. Each is in two forms, of which the one is about the view of
// one tenant, and the other has tenant and generation as columns.

import { type Statement, statement } from '../connection/database.ts';

/** $1 and $2 are the tenant and the generation; of many, those of each row. */
export interface ViewsStatement {
  readonly ofOne: Statement;
  /** Not where tables are distributed. */
  readonly ofMany: Statement;
}

// Of one, what is inserted is joined with the head of the tenant: a distributed database sees by it that all is on one
// machine.

const INTO_DOCS = `INSERT INTO docs (tenant_id, generation, leaf_index, event_id, at_ms, at_ns, classification, kind, outcome,
                     actor_type, action, actor, resource_type, terms)`;
const DOC_ARRAYS = `$3::bigint[], $4::bytea[], $5::bigint[], $6::integer[], $7::smallint[], $8::smallint[],
                      $9::smallint[], $10::smallint[], $11::text[], $12::text[], $13::text[], $14::tsvector[]`;
export const INSERT_DOCS: ViewsStatement = {
  ofOne: statement(
    `${INTO_DOCS}
   SELECT heads.tenant_id, $2, new.* FROM heads, unnest(${DOC_ARRAYS}) AS new WHERE heads.tenant_id = $1`,
  ),
  ofMany: statement(
    `${INTO_DOCS}
   SELECT new.* FROM unnest($1::text[], $2::integer[], ${DOC_ARRAYS}) AS new`,
  ),
};

const INTO_KEYS = 'INSERT INTO view_keys (tenant_id, generation, kind, text, label, open_label)';
const KEY_ARRAYS = '$3::smallint[], $4::text[], $5::text[], $6::text[]';
const KEY_COLUMNS = 'kind, text, label, open_label';
// Mostly they are there already and say the same: those are not even locked. Each is looked up by itself, which OFFSET makes
// sure of: a join would go through all that the view knows as long as the database does not know how many these are.
const isNew = (tenant: string, generation: string) =>
  `NOT EXISTS (SELECT 1 FROM view_keys AS known
     WHERE known.tenant_id = ${tenant} AND known.generation = ${generation} AND known.kind = new.kind AND known.text = new.text
       AND coalesce(new.label = known.label, new.label IS NULL)
       AND coalesce(new.open_label = known.open_label, new.open_label IS NULL) OFFSET 0)`;
const OR_NEWER_LABELS = `ON CONFLICT (tenant_id, generation, kind, text) DO UPDATE
     SET label = coalesce(excluded.label, view_keys.label),
         open_label = coalesce(excluded.open_label, view_keys.open_label)`;
export const INSERT_KEYS: ViewsStatement = {
  ofOne: statement(
    `${INTO_KEYS}
   SELECT heads.tenant_id, $2, new.kind, new.text, new.label, new.open_label
   FROM heads CROSS JOIN unnest(${KEY_ARRAYS}) AS new (${KEY_COLUMNS})
   WHERE heads.tenant_id = $1 AND ${isNew('heads.tenant_id', '$2')} ${OR_NEWER_LABELS}`,
  ),
  ofMany: statement(
    `${INTO_KEYS}
   SELECT new.* FROM unnest($1::text[], $2::integer[], ${KEY_ARRAYS}) AS new (tenant_id, generation, ${KEY_COLUMNS})
   WHERE ${isNew('new.tenant_id', 'new.generation')} ${OR_NEWER_LABELS}`,
  ),
};

const INTO_COUNTS =
  'INSERT INTO view_counts (tenant_id, generation, span, time, classification, kind, counted, value, count)';
const COUNT_ARRAYS =
  '$3::smallint[], $4::integer[], $5::smallint[], $6::smallint[], $7::smallint[], $8::text[], $9::bigint[]';
const ADDED = `ON CONFLICT (tenant_id, generation, counted, span, time, classification, kind, value)
     DO UPDATE SET count = view_counts.count + excluded.count`;
export const ADD_COUNTS: ViewsStatement = {
  ofOne: statement(
    `${INTO_COUNTS}
   SELECT heads.tenant_id, $2, span, time, classification, kind, counted, value, count
   FROM heads, unnest(${COUNT_ARRAYS}) AS new (span, time, classification, kind, counted, value, count)
   WHERE heads.tenant_id = $1 ${ADDED}`,
  ),
  ofMany: statement(
    `${INTO_COUNTS}
   SELECT new.* FROM unnest($1::text[], $2::integer[], ${COUNT_ARRAYS}) AS new WHERE true ${ADDED}`,
  ),
};

export const ADD_LARGE = statement(
  'UPDATE views SET large_docs = large_docs + $3 WHERE tenant_id = $1 AND generation = $2',
);
