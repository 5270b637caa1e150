// The members of a JSON value that may be anything.

/** None where it is no object. */
export function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

export function areTexts(members: Record<string, unknown>, names: readonly string[]): boolean {
  return names.every((name) => typeof members[name] === 'string');
}

export function areTextsIfAny(members: Record<string, unknown>, names: readonly string[]): boolean {
  return names.every((name) => members[name] === undefined || typeof members[name] === 'string');
}
