// Reads columns of a row, and checks that they have the types of the schema.

import { EvidenceError } from '@tallystick/evidence';

type Row = Readonly<Record<string, unknown>> | undefined;

/** The row does not match the schema: it was changed, or the disk is damaged. */
export class ColumnError extends EvidenceError {
  constructor(message: string) {
    super('MALFORMED', message);
  }
}

/** Integers may come as number or bigint: statements that must not fail for any row request bigints. */
export function numberOf(row: Row, column: string): number {
  const value = row?.[column];
  if (typeof value === 'number') return value;
  if (typeof value !== 'bigint') throw unexpected(column, value);
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new ColumnError(`column ${column} holds ${value}`);
  return number;
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

/** For reports about rows that do not match the schema. */
export function readOr<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ColumnError) return otherwise;
    throw error;
  }
}

function unexpected(column: string, value: unknown): ColumnError {
  return new ColumnError(`column ${column} holds ${value === null ? 'null' : typeof value}`);
}
