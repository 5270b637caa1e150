// A row of exported data, whatever its format: texts by the paths of their fields, context and payload as JSON values.

import { EvidenceError } from '../errors.ts';
import { parseJson } from '../json/parse-json.ts';

export interface ExportRow {
  /** From 1. */
  readonly number: number;
  /** By path, as `actor.userId`; without context, payload and redaction.fields. */
  readonly fields: ReadonlyMap<string, string>;
  readonly context: unknown;
  readonly payload: unknown;
  /** The paths of what is withheld or deleted. */
  readonly redacted: readonly string[];
  /** The format cannot tell an empty text from none. */
  readonly isEmptyAbsent: boolean;
}

/** Takes in a text piece by piece, and gives the rows in it. */
export interface RowReader {
  push(text: string): Iterable<ExportRow>;
  /** Throws where the text ends before its time. */
  end(): void;
}

/** No row is longer. */
export const ROW_LENGTH_MAX = 8 * 1_048_576;

/** All that stand in `fields`. */
const PATHS: ReadonlySet<string> = new Set([
  'eventId',
  'tenantId',
  'kind',
  'sequence',
  'timestamp',
  'receivedAt',
  'correlationId',
  'actor.actorType',
  'actor.userId',
  'actor.userName',
  'actor.serviceId',
  'actor.serviceName',
  'action',
  'resource.resourceType',
  'resource.resourceId',
  'resource.resourceName',
  'classification',
  'outcome',
  'submittedBy',
  'redaction.reason',
  'retention.policyId',
  'retention.expiresAt',
  'retention.legalHold',
  'integrity.streamId',
  'integrity.leafIndex',
  'integrity.leafHash',
  'integrity.previousHash',
  'integrity.status',
]);
const REDACTED_FIELDS = 'redaction.fields';
const CONTENT: readonly string[] = ['context', 'payload'];

/** A row out of its members: one that is an object has members itself; context and payload are values already. */
export function rowOf(
  number: number,
  members: Readonly<Record<string, unknown>>,
  isEmptyAbsent = false,
): ExportRow {
  const fields = new Map<string, string>();
  let redacted: readonly string[] = [];
  const add = (path: string, value: unknown): void => {
    if (path === REDACTED_FIELDS) redacted = textsIn(value, number);
    else if (isObject(value))
      for (const [name, inner] of Object.entries(value)) add(`${path}.${name}`, inner);
    else if (!PATHS.has(path))
      throw rowFault(number, `it has a field ${JSON.stringify(path.slice(0, 80))}, which no event has`);
    else if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      fields.set(path, String(value));
    else throw rowFault(number, `${path} is no text`);
  };
  for (const [name, value] of Object.entries(members)) if (!CONTENT.includes(name)) add(name, value);
  const { context, payload } = members as { context?: unknown; payload?: unknown };
  return { number, fields, context, payload, redacted, isEmptyAbsent };
}

/** Of a row: its JSON text, which must have one reading. */
export function valueIn(text: string, number: number): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    if (!(cause instanceof EvidenceError)) throw cause;
    throw rowFault(number, `it cannot be read: ${cause.message}`);
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textsIn(value: unknown, number: number): readonly string[] {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
  throw rowFault(number, `${REDACTED_FIELDS} is no list of texts`);
}

export function rowFault(number: number, why: string, index?: number): EvidenceError {
  return new EvidenceError('ROW_MISMATCH', `row ${number}: ${why}`, { index });
}
