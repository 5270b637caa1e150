// Headers that make the answers of a mount safe: nothing is cached, sniffed, framed or run. A single answer may have
// another `Cache-Control`, a mount that shows pages a `Content-Security-Policy` of its own.

const ALWAYS: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'",
  'Referrer-Policy': 'no-referrer',
  Vary: 'Accept-Encoding, Authorization, X-API-Key, X-Tenant-Id',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

export function securityHeaders(isTls: boolean): Readonly<Record<string, string>> {
  return isTls ? { ...ALWAYS, 'Strict-Transport-Security': 'max-age=31536000' } : ALWAYS;
}
