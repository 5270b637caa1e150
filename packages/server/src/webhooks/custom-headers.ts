// The headers that a subscription adds to each delivery: which names and values are allowed, and which headers hold a credential.
// Credentials are stored in a box and shown as REDACTED. Sending REDACTED back keeps the value, as long as the origin stays the same.

import { type ErrorDetail, LIMITS } from '@tallystick/contract';
import { REDACTED } from '../policies/sight.ts';

export type Headers = Readonly<Record<string, string>>;

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Visible characters of one byte, blanks and tabs (RFC 9110, 5.5). */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Hop-by-hop headers, and those that the delivery sets itself. */
const FORBIDDEN = new Set([
  'connection',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
]);
const FORBIDDEN_PREFIXES = ['content-', 'proxy-', 'webhook-', 'x-audit-'];

const CREDENTIAL_NAME =
  /authorization|authentication|(^|[-_])auth($|[-_])|cookie|credential|key$|pass(word|wd|phrase)|secret|session|signature|token/i;
const CREDENTIAL_VALUE = /^(basic|bearer|digest|token)\s/i;

/** Takes whatever was received; the schema reports what is not a map of texts. */
export function headerFaults(headers: unknown): ErrorDetail[] {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) return [];
  const all = Object.entries(headers as Record<string, unknown>);
  if (all.length > LIMITS.customHeadersMax) return [];
  const seen = new Set<string>();
  const faults: ErrorDetail[] = [];
  let length = 0;
  for (const [name, value] of all) {
    // Do not show the value: it may be a secret.
    const report = (issue: string) => faults.push({ field: headerField(name), issue });
    const lower = name.toLowerCase();
    const issue = nameIssue(name, lower);
    if (issue !== undefined) report(issue);
    else if (seen.has(lower)) report('is there twice; names differ by more than their case');
    seen.add(lower);
    if (typeof value !== 'string') continue;
    if (!VALUE.test(value)) report('has a character that no header may hold');
    length += name.length + value.length;
  }
  const max = LIMITS.customHeadersLengthMax;
  if (length > max)
    faults.push({
      field: 'headers',
      issue: `have ${length} characters together; at most ${max} are allowed`,
    });
  return faults;
}

function nameIssue(name: string, lower: string): string | undefined {
  const max = LIMITS.customHeaderNameLengthMax;
  if (name.length > max) return `has a name of ${name.length} characters; at most ${max} are allowed`;
  if (!NAME.test(name)) return 'is not a name that a header can have';
  // CGI and the like treat both as the same header.
  const dashed = lower.replaceAll('_', '-');
  const isOurs = FORBIDDEN.has(dashed) || FORBIDDEN_PREFIXES.some((prefix) => dashed.startsWith(prefix));
  return isOurs ? 'belongs to the delivery itself and cannot be set' : undefined;
}

export interface SplitHeaders {
  /** As they are shown. */
  readonly shown: Headers;
  /** Those that hold a credential. */
  readonly credentials: Headers;
  /** Sent as REDACTED, although there is no credential of that name to keep. */
  readonly faults: readonly ErrorDetail[];
}

const NOT_ELSEWHERE = 'must be sent anew: what is kept goes to the origin that it was sent for alone';

/** `known`: the current credentials. `isElsewhere`: the origin changes, and its owner must not learn them. */
export function splitHeaders(headers: Headers, known: Headers, isElsewhere = false): SplitHeaders {
  const before = new Map(Object.entries(known).map(([name, value]) => [name.toLowerCase(), value]));
  const shown: [string, string][] = [];
  const credentials: [string, string][] = [];
  const faults: ErrorDetail[] = [];
  for (const [name, sent] of Object.entries(headers)) {
    const value = sent === REDACTED ? before.get(name.toLowerCase()) : sent;
    if (value === undefined || (isElsewhere && sent === REDACTED)) {
      const issue = value === undefined ? `has no value that ${REDACTED} could keep` : NOT_ELSEWHERE;
      faults.push({ field: headerField(name), issue });
    } else if (CREDENTIAL_NAME.test(name) || CREDENTIAL_VALUE.test(value)) {
      shown.push([name, REDACTED]);
      credentials.push([name, value]);
    } else shown.push([name, value]);
  }
  // Makes each of them an own member, even one called __proto__.
  return { shown: Object.fromEntries(shown), credentials: Object.fromEntries(credentials), faults };
}

function headerField(name: string): string {
  const short = name.slice(0, LIMITS.customHeaderNameLengthMax);
  return /^[A-Za-z_$][\w$]*$/.test(short) ? `headers.${short}` : `headers[${JSON.stringify(short)}]`;
}
