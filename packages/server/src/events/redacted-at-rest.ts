// How an event tells its reader that fields of it are gone for good, beside what is withheld from this reader.

import type { AuditEvent } from '@tallystick/contract';
import { formatPath } from '../query/field-path.ts';

type Redaction = Pick<AuditEvent, 'redaction'>;

/** The name of a unit in the interface, of its path (RFC 6901): `payload.iban`. */
export function fieldOf(path: string): string {
  const steps = path.slice(1).split('/');
  return formatPath(steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')));
}

/**
 * `withheld` is what the reader's rights withhold. Its reason stands before that of fields which are gone for everybody, and
 * where content is withheld as a whole, the names of keys are part of it.
 */
export function redactionShown(
  withheld: AuditEvent['redaction'],
  deletedPaths: readonly string[] | undefined,
): Redaction {
  if (deletedPaths === undefined) return withheld === undefined ? {} : { redaction: withheld };
  const fields = deletedPaths.map(fieldOf).toSorted();
  if (withheld === undefined) return { redaction: { fields, reason: 'RedactedAtRest' } };
  const named = fields.filter((field) => !withheld.fields.includes(field.split(/[."]/, 1)[0]!));
  return { redaction: { ...withheld, fields: [...new Set([...withheld.fields, ...named])] } };
}
