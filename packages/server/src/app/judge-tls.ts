// What is wrong with the certificates and the key of a subscription, in clear words. Nothing of a key is repeated.

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { ErrorDetail } from '@tallystick/contract';
import type { JudgeTls } from '../webhooks/subscription-tls.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

export function createJudgeTls(nowMs: () => number): JudgeTls {
  return ({ ca, certificate, key }) => {
    const faults: ErrorDetail[] = [];
    const report = (field: string, issue: string) => faults.push({ field: `tls.${field}`, issue });
    const read = (field: 'ca' | 'certificate', pem: string) => {
      const issue = certificatesIssue(pem, nowMs());
      if (issue !== undefined) report(field, issue);
      return issue === undefined;
    };
    if (ca !== undefined) read('ca', ca);
    const isSound = certificate !== undefined && read('certificate', certificate);
    if (key === undefined) return faults;
    const own = privateKeyIn(key);
    if (own === undefined) report('key', 'is no private key in PEM, or it needs a passphrase');
    else if (isSound && !new X509Certificate(certificate).checkPrivateKey(own))
      report('key', 'does not belong to the certificate');
    return faults;
  };
}

function certificatesIssue(pem: string, nowMs: number): string | undefined {
  const blocks = pem.match(CERTIFICATE) ?? [];
  if (blocks.length === 0) return 'has no certificate in PEM';
  for (const [i, block] of blocks.entries()) {
    const which = blocks.length === 1 ? 'has a certificate that' : `has a certificate, the ${i + 1}., that`;
    let read: X509Certificate;
    try {
      read = new X509Certificate(block);
    } catch {
      return `${which} cannot be read`;
    }
    if (Date.parse(read.validTo) <= nowMs) return `${which} has expired: ${read.validTo}`;
  }
  return undefined;
}

function privateKeyIn(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}
