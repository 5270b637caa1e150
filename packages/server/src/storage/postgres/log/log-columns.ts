// The columns of an event, and the join of entries with their contents.

import { SEALED_COLUMNS } from '../../sealing/sealed-rows.ts';
import { ALL_CLASSIFICATION_BITS, CLASSIFICATIONS } from '../../rows/classification-column.ts';

/** The columns that rows/stored-content.ts checks. */
export const CHECKED_COLUMNS = `entries.leaf_index, classification, entry, leaf, root1, root2,
  contents.leaf_index AS content_id, text1, text2, seeds, closed, expires_at_ms, ${SEALED_COLUMNS.PostgreSQL}`;

/** The redaction notices that may be about an entry, with commas between. */
export const REDACTION_NOTICES = `(SELECT string_agg(redactions.notice_index::text, ',') FROM redactions
  WHERE redactions.tenant_id = entries.tenant_id AND redactions.leaf_index = entries.leaf_index) AS redaction_notices`;

/**
 * All notices that may be about an entry, for rows/removed-rows.ts. Deletions do not overlap: of those that begin before
 * the entry, the last one ends last.
 */
export const NOTICES_OF_ENTRY = `(SELECT CASE WHEN deletions.end_index > entries.leaf_index THEN notice_index END
  FROM deletions WHERE deletions.tenant_id = entries.tenant_id AND deletions.first_index <= entries.leaf_index
  ORDER BY deletions.first_index DESC LIMIT 1) AS notice_index, ${REDACTION_NOTICES}`;

/**
 * Uses all three columns, so that only one partition is read; and a lookup per entry, which is fast for a page however
 * many contents there are.
 */
export const WITH_CONTENTS = `LEFT JOIN LATERAL (SELECT * FROM contents WHERE contents.tenant_id = entries.tenant_id
  AND contents.leaf_index = entries.leaf_index AND contents.content_month = entries.content_month LIMIT 1) AS contents ON true`;
export const ENTRIES_WITH_CONTENTS = `entries ${WITH_CONTENTS}`;

/** The indexed column: row-level security prevents an index lookup by a function of the entry. */
export const EVENT_ID = 'entries.event_id';

/** A shift by 32 or more wraps around. */
const IS_CLASSIFIED = `classification BETWEEN 0 AND ${CLASSIFICATIONS.length - 1}`;

/**
 * For entries joined with their contents, with `bitsOf` as parameter $3: the events that a reader may know of by the
 * column, or by the apparent value in the text. If these differ the event was changed, which must not be withheld from
 * its former readers; so the caller checks each result again.
 */
export const MAY_BE_SEEN = `($3::integer = ${ALL_CLASSIFICATION_BITS} OR (${IS_CLASSIFIED} AND ($3 >> classification::integer) & 1 = 1) OR key_id IS NOT NULL OR ${CLASSIFICATIONS.map(
  (name, place) =>
    `(($3 >> ${place}) & 1 = 1 AND position('"classification":"${name}"'::bytea in coalesce(text1, '')) > 0)`,
).join(' OR ')})`;
