// Correlation ids and idempotency keys: text that a caller chooses and that everybody can read.

import { AuditError } from '@tallystick/contract';

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

export function isVisible(text: string, lengthMax: number): boolean {
  return text.length <= lengthMax && VISIBLE_ASCII.test(text);
}

/** One that was sent twice arrives with a blank in it. */
export function notVisible(field: string, text: string, lengthMax: number): AuditError {
  const issue = `must be 1 to ${lengthMax} visible ASCII characters, no blanks`;
  return new AuditError('INVALID_HEADER', `${field} ${issue}, and sent once.`, {
    details: [{ field, issue, value: text }],
  });
}
