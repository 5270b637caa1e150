// The partition of an event's content: that of the month in which it expires, so that expired content can be dropped as
// a whole.

/** Counted from January 1970, which is 1; 0 for content that never expires. */
export function contentMonthOf(expiresAtMs: number | undefined): number {
  if (expiresAtMs === undefined) return 0;
  const expires = new Date(expiresAtMs);
  return (expires.getUTCFullYear() - 1970) * 12 + expires.getUTCMonth() + 1;
}
