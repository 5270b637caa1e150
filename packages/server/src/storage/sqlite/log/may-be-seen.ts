// The condition in SQLite for the events that a reader may know of.

import { ALL_CLASSIFICATION_BITS, CLASSIFICATIONS } from '../../rows/classification-column.ts';

/**
 * For entries joined with their contents, with `bitsOf` as parameter ?3: the events that a reader may know of by the
 * column, or by the apparent value in the text. If these differ the event was changed, which must not be withheld from
 * its former readers; so the caller checks each result again. The text is read only if the column does not decide, and
 * inside SQLite, so that an invisible event takes hardly longer than a missing one. A sealed text says nothing here: the caller
 * opens it. That takes longer, and tells no more than the log does: within a tenant, that an event exists is no secret.
 */
export const MAY_BE_SEEN = `(?3 = ${ALL_CLASSIFICATION_BITS} OR (?3 >> classification) & 1 OR key_id IS NOT NULL OR ${CLASSIFICATIONS.map(
  (name, place) => `((?3 >> ${place}) & 1 AND instr(text1, CAST('"classification":"${name}"' AS BLOB)))`,
).join(' OR ')})`;
