// From an error of Node to a fault, in our own words: those of Node name addresses.

import type { Course } from './course.ts';
import { OutboundError, type OutboundFault } from './outbound-error.ts';

export function faultOf(error: unknown, { origin }: URL, course: Course): OutboundError {
  if (error instanceof OutboundError) return error;
  const code = codeOf(error);
  if (code === 'ERR_INVALID_CHAR' || code === 'ERR_INVALID_HTTP_TOKEN') {
    return course.error('NotAllowed', `the request to ${origin} has a header that cannot be sent`);
  }
  const [fault, words] = wordsFor(code, course);
  return course.error(fault, `${origin} ${words}${code === '' ? '' : ` (${code})`}`, error);
}

function wordsFor(code: string, { phase }: Course): readonly [OutboundFault, string] {
  if (/^HPE_\w+_OVERFLOW$/.test(code)) return ['TooLarge', 'answers with too large headers'];
  if (code.startsWith('HPE_')) return ['Protocol', 'answers with what is not HTTP'];
  if (EXHAUSTED.has(code)) return ['Busy', 'was not asked: this machine opens no more connections'];
  if (phase === 'Dns') return ['Dns', isNoAddress(code) ? 'leads to no address' : 'cannot be looked up'];
  if (phase === 'Connect' && code !== 'ECONNRESET') return ['Connect', 'cannot be connected to'];
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return ['Tls', 'does not agree on TLS'];
  if (phase === 'Tls' && !CLOSED.has(code))
    return ['Tls', CERTIFICATE[code] ?? 'has a certificate that is not trusted'];
  if (phase === 'Tls') return ['Reset', 'closed the connection before TLS was established'];
  return ['Reset', 'closed the connection before the answer was whole'];
}

/** Of sockets, ports or memory: nothing that the peer has done. */
const EXHAUSTED = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL']);

const CLOSED = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ETIMEDOUT']);

const CERTIFICATE: Readonly<Record<string, string>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
  CERT_HAS_EXPIRED: 'has a certificate that has expired',
  CERT_NOT_YET_VALID: 'has a certificate that is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a self-signed certificate, which is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'has a certificate of an authority that is not trusted',
};

function isNoAddress(code: string): boolean {
  return code === 'ENOTFOUND' || code === 'ENODATA';
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  return typeof code === 'string' ? code : '';
}
