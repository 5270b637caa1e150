// Headers that all answers of a mount have. They make them safe: nothing is cached, sniffed, framed or run. A single answer may
// have another `Cache-Control`, a page or a mount that shows pages a `Content-Security-Policy` of its own.

import { SUPPORTED_VERSIONS } from './version-headers.ts';

const ALWAYS: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'",
  'Referrer-Policy': 'no-referrer',
  Vary: 'Accept-Encoding, Authorization, X-API-Key, X-Tenant-Id',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'api-supported-versions': SUPPORTED_VERSIONS,
};

export function standingHeaders(isTls: boolean): Readonly<Record<string, string>> {
  return isTls ? { ...ALWAYS, 'Strict-Transport-Security': 'max-age=31536000' } : ALWAYS;
}
