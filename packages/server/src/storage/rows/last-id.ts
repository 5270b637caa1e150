// The start of a list of ids that is read from its end.

/** Sorts after every ULID. */
export const LAST_ID = '~';
