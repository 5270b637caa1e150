// The month in which the content of an event expires. On PostgreSQL it is the partition of the content, so that expired content
// can be dropped as a whole; sealed content has a key for each, which can be destroyed.

/** Counted from January 1970, which is 1; 0 for content that never expires. */
export function contentMonthOf(expiresAtMs: number | undefined): number {
  if (expiresAtMs === undefined) return 0;
  const expires = new Date(expiresAtMs);
  return (expires.getUTCFullYear() - 1970) * 12 + expires.getUTCMonth() + 1;
}

export function startOfContentMonth(month: number): number {
  return Date.UTC(1970, month - 1);
}
