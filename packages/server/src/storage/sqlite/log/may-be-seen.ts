// Which events a reader may know of, as SQLite decides it.

import { ALL_CLASSIFICATION_BITS, CLASSIFICATIONS } from '../../rows/classification-column.ts';

/**
 * Of entries that are joined with their contents, for `bitsOf` as parameter ?3: those that such a reader may know of by
 * the column, or by what the text seems to say. Where these differ the event was changed, which is not to be hidden from
 * those whom it concerned before; so whoever asks judges again what comes. The text is looked at only where the column
 * does not settle it, and inside SQLite, so that one that may not be seen takes hardly longer than one that is not there.
 */
export const MAY_BE_SEEN = `(?3 = ${ALL_CLASSIFICATION_BITS} OR (?3 >> classification) & 1 OR ${CLASSIFICATIONS.map(
  (name, place) => `((?3 >> ${place}) & 1 AND instr(text1, CAST('"classification":"${name}"' AS BLOB)))`,
).join(' OR ')})`;
