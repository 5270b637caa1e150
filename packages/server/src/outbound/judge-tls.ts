// What is wrong with the certificates and the key for a peer, in clear words, before they are stored. Nothing of a key is repeated.

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { ErrorDetail } from '@tallystick/contract';
import type { JudgeTls } from '../webhooks/subscription-tls.ts';

const BEGIN = /-----BEGIN ([A-Z0-9 ]+)-----/g;
/** Its content has no hyphen, so that a text of many beginnings is read once, and not once for each of them. */
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

type Field = 'ca' | 'certificate' | 'key';

export function createJudgeTls(nowMs: () => number): JudgeTls {
  return (tls) => {
    const { ca, certificate, key } = tls;
    const faults: ErrorDetail[] = [];
    const report = (field: Field, issue: string | undefined) => {
      if (issue !== undefined) faults.push({ field: `tls.${field}`, issue });
    };
    const authorities = ca === undefined ? [] : certificatesIn(ca);
    const chain = certificate === undefined ? [] : certificatesIn(certificate);
    report('ca', issueOf(authorities, nowMs()) ?? issueOfAuthorities(authorities));
    report('certificate', issueOf(chain, nowMs()));
    if (key !== undefined) report('key', issueOfKey(key, chain));
    // The last word is of those who use it: they refuse keys that are too short, and signatures that are too weak.
    if (faults.length === 0 && ca !== undefined) report('ca', refusalOf({ ca }));
    if (faults.length === 0 && certificate !== undefined)
      report('certificate', refusalOf({ cert: certificate }));
    return faults;
  };
}

/** What is wrong with the text instead of certificates. */
function certificatesIn(pem: string): readonly X509Certificate[] | string {
  const begun = [...pem.matchAll(BEGIN)];
  const other = begun.find(([, label]) => label !== 'CERTIFICATE');
  if (other !== undefined) return `has a ${other[1]} in it; only certificates belong here`;
  const blocks = [...pem.matchAll(CERTIFICATE)];
  if (blocks.length === 0) return 'has no certificate in PEM';
  if (blocks.length < begun.length) return 'has a certificate in it that does not end';
  const read: X509Certificate[] = [];
  for (const [block] of blocks) {
    try {
      read.push(new X509Certificate(block));
    } catch {
      return `${whichOf(blocks.length, read.length)} cannot be read`;
    }
  }
  return read;
}

function issueOf(read: readonly X509Certificate[] | string, nowMs: number): string | undefined {
  if (typeof read === 'string') return read;
  for (const [i, { validFromDate, validToDate }] of read.entries()) {
    const which = whichOf(read.length, i);
    if (validToDate.getTime() <= nowMs) return `${which} has expired: it was valid until ${day(validToDate)}`;
    if (validFromDate.getTime() > nowMs)
      return `${which} is not valid yet: it will be from ${day(validFromDate)}`;
  }
  return undefined;
}

/** A certificate that signs itself vouches for itself. */
function issueOfAuthorities(read: readonly X509Certificate[] | string): string | undefined {
  if (typeof read === 'string') return undefined;
  const stranger = read.findIndex((each) => !each.ca && !each.checkIssued(each));
  if (stranger === -1) return undefined;
  return `${whichOf(read.length, stranger)} is of no authority: it vouches for no other certificate`;
}

function issueOfKey(pem: string, chain: readonly X509Certificate[] | string): string | undefined {
  if (/-----BEGIN CERTIFICATE-----/.test(pem))
    return 'has a certificate in it; only a private key belongs here';
  if (/ENCRYPTED/.test(pem)) return 'needs a passphrase; give it without one, since it is stored encrypted';
  const key = privateKeyIn(pem);
  if (key === undefined) return 'is no private key in PEM';
  if (typeof chain === 'string' || chain.length === 0) return undefined;
  if (chain[0]!.checkPrivateKey(key)) return undefined;
  return chain.some((each) => each.checkPrivateKey(key))
    ? 'belongs to a later certificate of the chain; its own must be the first'
    : 'does not belong to the certificate';
}

function refusalOf(options: { readonly ca: string } | { readonly cert: string }): string | undefined {
  try {
    createSecureContext(options);
    return undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const words = code
      .replace(/^ERR_SSL_|^ERR_OSSL_/, '')
      .replaceAll('_', ' ')
      .toLowerCase();
    return `cannot be used${words === '' ? '' : `: ${words}`}`;
  }
}

function privateKeyIn(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

function whichOf(count: number, index: number): string {
  return count === 1 ? 'has a certificate that' : `has a certificate, number ${index + 1}, that`;
}

function day(at: Date): string {
  return at.toISOString().slice(0, 10);
}
