// A URL as it is written, judged before anything is looked up: its scheme, and its host where that is an address or a name
// that needs no lookup to be refused. The parser of URLs has brought every notation of an IPv4 address, such as
// `0x7f.1` or `2130706433`, into the usual one.

import { isIP } from 'node:net';
import { type AddressRule, noAddress } from './address-rules.ts';
import { OutboundError } from './outbound-error.ts';

/** Which addresses may be connected to over TLS, and which without it. */
export interface Reach {
  readonly https: AddressRule;
  readonly http: AddressRule;
}

export interface Target {
  readonly url: URL;
  readonly isTls: boolean;
  /** An IPv6 address is without its brackets, a name without a dot at its end. */
  readonly host: string;
  readonly isAddress: boolean;
  readonly port: number;
  readonly rule: AddressRule;
}

/** Throws OutboundError. */
export function targetOf(text: string, reach: Reach): Target {
  const url = URL.parse(text);
  if (url === null) throw notAllowed('the address is not a URL');
  const { protocol, username, password } = url;
  const isTls = protocol === 'https:';
  const rule = isTls ? reach.https : protocol === 'http:' ? reach.http : noAddress;
  if (rule === noAddress)
    throw notAllowed(`an address begins with ${schemesOf(reach)}, not with ${protocol}`);
  if (username !== '' || password !== '') {
    throw notAllowed(`the address of ${url.origin} has a user name or a password in it`);
  }
  const host = url.hostname.replace(/^\[|\]$|\.$/g, '');
  const isAddress = isIP(host) !== 0;
  if (!(isAddress ? rule.allows(host) : rule.allowsName(host))) {
    throw notAllowed(`${host} is not ${rule.words}, and must not be connected to over ${protocol}`);
  }
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port);
  return { url, isTls, host, isAddress, port, rule };
}

/** One address of a name is enough to refuse it: which of them is taken is not ours to say. */
export function judgeAddresses(
  { host, rule, url }: Target,
  addresses: readonly string[],
): string | undefined {
  if (addresses.every((address) => rule.allows(address))) return undefined;
  return `${host} leads to an address that is not ${rule.words}, and must not be connected to over ${url.protocol}`;
}

function schemesOf({ https, http }: Reach): string {
  return [http === noAddress ? [] : ['http:'], https === noAddress ? [] : ['https:']].flat().join(' or ');
}

function notAllowed(message: string): OutboundError {
  return new OutboundError('NotAllowed', message);
}
