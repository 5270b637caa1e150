// Bounds of a list of ids.

/** Sorts after every ULID. */
export const LAST_ID = '~';

export function later(id: string, other: string | undefined): string {
  return other === undefined || id > other ? id : other;
}
