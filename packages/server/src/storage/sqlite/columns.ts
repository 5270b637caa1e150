// What a row holds in a column, once it is seen to be of the kind that the schema promises.

type Row = Readonly<Record<string, unknown>> | undefined;

export function numberOf(row: Row, column: string): number {
  const value = row?.[column];
  if (typeof value !== 'number') throw unexpected(column, value);
  return value;
}

export function textIn(row: Row, column: string): string {
  const value = row?.[column];
  if (typeof value !== 'string') throw unexpected(column, value);
  return value;
}

export function blobOf(row: Row, column: string): Uint8Array {
  const value = row?.[column];
  if (!(value instanceof Uint8Array)) throw unexpected(column, value);
  return value;
}

/** Undefined for null. */
export function numberOrNone(row: Row, column: string): number | undefined {
  return row?.[column] === null ? undefined : numberOf(row, column);
}

export function textOrNone(row: Row, column: string): string | undefined {
  return row?.[column] === null ? undefined : textIn(row, column);
}

export function blobOrNone(row: Row, column: string): Uint8Array | undefined {
  return row?.[column] === null ? undefined : blobOf(row, column);
}

function unexpected(column: string, value: unknown): Error {
  return new Error(`column ${column} holds ${value === null ? 'null' : typeof value}`);
}
