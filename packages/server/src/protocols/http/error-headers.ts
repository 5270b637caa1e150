// What the headers of an answer say of its error: how to authenticate, and when to try again. The same in all protocols over HTTP.

import { type AuditError, REST_STATUS_OF_ERROR, WORTH_RETRYING } from '@tallystick/contract';
import type { AnswerHeaders } from './mount.ts';

/** How long a caller should wait when we cannot say better. */
const RETRY_AFTER_SECONDS = 1;

/** `resourceMetadata`: where a client finds out who issues tokens for this resource (RFC 9728, 5.1). */
export function errorHeaders(error: AuditError, resourceMetadata?: string): AnswerHeaders {
  const status = REST_STATUS_OF_ERROR[error.code];
  return {
    ...(status === 401 && { 'WWW-Authenticate': challenge(resourceMetadata) }),
    ...(WORTH_RETRYING.includes(error.code) && {
      'Retry-After': String(error.retryAfterSeconds ?? RETRY_AFTER_SECONDS),
    }),
  };
}

function challenge(resourceMetadata: string | undefined): string {
  return resourceMetadata === undefined ? 'Bearer' : `Bearer resource_metadata="${resourceMetadata}"`;
}
