// Where a list of rows with ids begins if it is read from its end.

/** Behind every ULID. */
export const LAST_ID = '~';
