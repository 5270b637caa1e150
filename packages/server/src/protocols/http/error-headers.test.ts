import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError } from '@tallystick/contract';
import { errorHeaders } from './error-headers.ts';

test('a refusal tells how to authenticate, and when to try again, where that helps', () => {
  const metadata = 'https://audit.test/.well-known/oauth-protected-resource/mcp';
  const limited = new AuditError('RATE_LIMITED', 'Too many.', { retryAfterSeconds: 7 });
  const table: [AuditError, string | undefined, Record<string, string>][] = [
    [new AuditError('UNAUTHENTICATED', 'No credential.'), undefined, { 'WWW-Authenticate': 'Bearer' }],
    [
      new AuditError('UNAUTHENTICATED', 'No credential.'),
      metadata,
      { 'WWW-Authenticate': `Bearer resource_metadata="${metadata}"` },
    ],
    [limited, metadata, { 'Retry-After': '7' }],
    [new AuditError('SERVICE_UNAVAILABLE', 'Starting.'), undefined, { 'Retry-After': '1' }],
    [new AuditError('FORBIDDEN', 'No.'), metadata, {}],
  ];
  for (const [error, at, expected] of table) assert.deepEqual(errorHeaders(error, at), expected, error.code);
});
