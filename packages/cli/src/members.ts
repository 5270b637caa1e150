// The members of a JSON value that may be anything.

/** None where it is no object. */
export function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
