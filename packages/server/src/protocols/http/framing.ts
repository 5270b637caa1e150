// Refuses what HTTP allows and we do not: framing that two parties can read in two ways (two hosts, a transfer coding
// that only one of them knows), and expectations that we cannot meet. This check comes before all others.

import type { IncomingMessage } from 'node:http';
import { AuditError } from '@tallystick/contract';

/** A host name or address and an optional port. Repeated headers arrive joined by ", ", which does not fit. */
const HOST = /^(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._~%-]*)(:\d{0,5})?$/;

export function checkFraming({ httpVersion, headers }: IncomingMessage): void {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    throw invalid('HTTP', `must be of version 1.1; it is ${httpVersion}`);
  }
  const { host, expect, 'transfer-encoding': coding } = headers;
  if (host === undefined ? httpVersion === '1.1' : !HOST.test(host)) {
    throw invalid('Host', 'must be sent once, as a host name or address with an optional port');
  }
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    throw invalid('Transfer-Encoding', 'must be chunked, or absent');
  }
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    throw invalid('Expect', 'must be 100-continue, or absent');
  }
}

/** False where nobody can tell where the next request begins. */
export function isFramed({ headers, httpVersion }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  // Node loses what came in one piece with a request that asks for an upgrade, even where that is not taken.
  if (headers.upgrade !== undefined) return false;
  return httpVersion.startsWith('1.') && (coding === undefined || coding.toLowerCase() === 'chunked');
}

function invalid(field: string, issue: string): AuditError {
  return new AuditError('INVALID_HEADER', `${field} ${issue}.`, { details: [{ field, issue }] });
}
