// Headers that make every answer over HTTP safe by default: nothing is cached, sniffed, framed or run. The binding
// of an operation may name another `Cache-Control`.

export interface Surroundings {
  /** Whether the service is reached over TLS, here or at a proxy in front. */
  readonly isTls: boolean;
}

const ALWAYS: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'",
  'Referrer-Policy': 'no-referrer',
  Vary: 'Accept-Encoding, Authorization, X-API-Key, X-Tenant-Id',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

export function securityHeaders({ isTls }: Surroundings): Readonly<Record<string, string>> {
  return isTls ? { ...ALWAYS, 'Strict-Transport-Security': 'max-age=31536000' } : ALWAYS;
}
