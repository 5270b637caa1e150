// What the OTEL_ variables say of the receiver. The exporters read these by themselves, and do without what they cannot use: with
// another receiver, in plain, or without a word. So they are judged here first.

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { arePair, unreadable } from './tls-files.ts';

export type Variables = Readonly<Record<string, string | undefined>>;
export type Signal = 'TRACES' | 'METRICS';

const MS_MAX = 2 ** 31 - 1;
const COMPRESSIONS = ['none', 'gzip'];

/** A line for each that cannot be used. */
export function receiverProblems(variables: Variables, signals: readonly Signal[]): string[] {
  return [...new Set(signals.flatMap((signal) => problemsOf(signal, variables)))];
}

export function refusal(name: string, value: string, allowed: string): string {
  return `${name} is ${JSON.stringify(value.slice(0, 200))}; allowed: ${allowed}`;
}

interface Said {
  readonly name: string;
  readonly value: string;
}

function problemsOf(signal: Signal, variables: Variables): string[] {
  /** That of the signal goes before the one of all. */
  const said = (what: string): Said | undefined =>
    [`OTEL_EXPORTER_OTLP_${signal}_${what}`, `OTEL_EXPORTER_OTLP_${what}`]
      .map((name) => ({ name, value: variables[name] ?? '' }))
      .find(({ value }) => value.trim() !== '');
  const judged = (what: string, isGood: (value: string) => boolean, allowed: string): string[] => {
    const found = said(what);
    return found === undefined || isGood(found.value)
      ? []
      : [refusal(found.name, withoutPassword(found.value), allowed)];
  };
  return [
    ...judged('ENDPOINT', isHttp, 'an http: or https: address'),
    ...judged('TIMEOUT', isTimeout, `a whole number from 1 to ${MS_MAX}`),
    ...judged('COMPRESSION', (value) => COMPRESSIONS.includes(value.trim()), 'one of none, gzip'),
    ...authorityProblems(said('CERTIFICATE')),
    ...clientProblems(said('CLIENT_CERTIFICATE'), said('CLIENT_KEY')),
  ];
}

/** A path is appended to it as it stands. */
function isHttp(value: string): boolean {
  const address = URL.parse(`${value}/`);
  return address !== null && ['http:', 'https:'].includes(address.protocol);
}

function isTimeout(value: string): boolean {
  return /^\d{1,10}$/.test(value.trim()) && Number(value) >= 1 && Number(value) <= MS_MAX;
}

function withoutPassword(value: string): string {
  return value.replace(/\/\/[^/]*@/, '//***@');
}

function authorityProblems(said: Said | undefined): string[] {
  if (said === undefined) return [];
  const { text, problems } = read(said);
  if (problems.length > 0 || isCertificate(text)) return problems;
  return [`${said.name}: ${said.value} is no certificate`];
}

function clientProblems(certificate: Said | undefined, key: Said | undefined): string[] {
  const alone = certificate === undefined ? key : key === undefined ? certificate : undefined;
  if (alone !== undefined) {
    const other = alone === key ? 'certificate' : 'key';
    return [`${alone.name} is of no use without the ${other} of the client`];
  }
  if (certificate === undefined || key === undefined) return [];
  const [ofCertificate, ofKey] = [read(certificate), read(key)];
  const problems = [...ofCertificate.problems, ...ofKey.problems];
  if (problems.length > 0 || arePair({ certificate: ofCertificate.text, key: ofKey.text })) return problems;
  return [`${certificate.name}: ${certificate.value} and ${key.value} are no certificate and its key`];
}

function read({ name, value }: Said): { readonly text: string; readonly problems: string[] } {
  try {
    return { text: readFileSync(value, 'utf8'), problems: [] };
  } catch (error) {
    return { text: '', problems: [unreadable(name, value, error)] };
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}
