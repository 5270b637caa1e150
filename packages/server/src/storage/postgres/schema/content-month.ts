// In which partition the content of an event is: that of the month in which it expires, so that what has expired can be
// dropped as a whole.

/** Counted from January 1970, which is 1; 0 for what never expires. */
export function contentMonthOf(expiresAtMs: number | undefined): number {
  if (expiresAtMs === undefined) return 0;
  const expires = new Date(expiresAtMs);
  return (expires.getUTCFullYear() - 1970) * 12 + expires.getUTCMonth() + 1;
}
