// What is read of an event, and how entries and their contents are joined.

import { ALL_CLASSIFICATION_BITS, CLASSIFICATIONS } from '../../rows/classification-column.ts';

/** What rows/stored-content.ts looks at. */
export const CHECKED_COLUMNS = `entries.leaf_index, classification, entry, leaf, root1, root2,
  contents.leaf_index AS content_id, text1, text2, seeds, expires_at_ms`;

/**
 * Of an entry: the notice that it may be covered by, for rows/purge-notice.ts. No two deletions overlap: of those that begin
 * before the entry, the last one ends last.
 */
export const NOTICE_INDEX = `(SELECT CASE WHEN deletions.end_index > entries.leaf_index THEN notice_index END
  FROM deletions WHERE deletions.tenant_id = entries.tenant_id AND deletions.first_index <= entries.leaf_index
  ORDER BY deletions.first_index DESC LIMIT 1) AS notice_index`;

/**
 * By all three columns, so that only one partition is looked into; and entry by entry, which is as a page of them is read
 * however many contents there are.
 */
export const WITH_CONTENTS = `LEFT JOIN LATERAL (SELECT * FROM contents WHERE contents.tenant_id = entries.tenant_id
  AND contents.leaf_index = entries.leaf_index AND contents.content_month = entries.content_month LIMIT 1) AS contents ON true`;
export const ENTRIES_WITH_CONTENTS = `entries ${WITH_CONTENTS}`;

/** As indexed: a function of the entry would not be looked up by behind the security of rows. */
export const EVENT_ID = 'entries.event_id';

/** A shift by 32 and more begins anew. */
const IS_CLASSIFIED = `classification BETWEEN 0 AND ${CLASSIFICATIONS.length - 1}`;

/**
 * Of entries that are joined with their contents, for `bitsOf` as parameter $3: those that such a reader may know of by
 * the column, or by what the text seems to say. Where these differ the event was changed, which is not to be hidden from
 * those whom it concerned before; so whoever asks judges again what comes.
 */
export const MAY_BE_SEEN = `($3::integer = ${ALL_CLASSIFICATION_BITS} OR (${IS_CLASSIFIED} AND ($3 >> classification::integer) & 1 = 1) OR ${CLASSIFICATIONS.map(
  (name, place) =>
    `(($3 >> ${place}) & 1 = 1 AND position('"classification":"${name}"'::bytea in coalesce(text1, '')) > 0)`,
).join(' OR ')})`;
