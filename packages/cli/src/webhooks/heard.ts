// Judges a request to the local consumer: whether it is a genuine delivery, and what it says, in one line.

import type { IncomingHttpHeaders } from 'node:http';
import { timingSafeEqual } from 'node:crypto';
import { EvidenceError, parseJson } from '@tallystick/evidence';
import type { Server } from '../data-command.ts';
import { membersOf } from '../members.ts';

export type Verdict = 'verified' | 'not-verified' | 'wrong-signature' | 'too-old' | 'malformed';

export interface Heard {
  readonly at: string;
  readonly webhookType: string;
  readonly webhookId: string;
  readonly attemptNumber: number | undefined;
  readonly verdict: Verdict;
  readonly summary: string;
  /** What was sent; undefined if it is not JSON. */
  readonly notification: unknown;
}

export interface Judging {
  /** Undefined: signatures are not verified. */
  readonly secret: string | undefined;
  readonly nowMs: number;
  readonly signatureHeaders: Server['signatureHeaders'];
}

const AGE_MS_MAX = 5 * 60_000;
const HEX_NAMES = ['x-audit-signature', 'x-audit-signature-previous'];

export function hear(headers: IncomingHttpHeaders, body: Uint8Array, judging: Judging): Heard {
  const notification = jsonIn(body);
  const { webhookType, webhookId, attemptNumber } = membersOf(notification);
  return {
    at: new Date(judging.nowMs).toISOString(),
    webhookType: typeof webhookType === 'string' ? webhookType : '?',
    webhookId: typeof webhookId === 'string' ? webhookId : '?',
    attemptNumber: typeof attemptNumber === 'number' ? attemptNumber : undefined,
    verdict: notification === undefined ? 'malformed' : verdictOf(headers, body, judging),
    summary: summaryOf(membersOf(notification)),
    notification,
  };
}

function verdictOf(
  headers: IncomingHttpHeaders,
  body: Uint8Array,
  { secret, nowMs, signatureHeaders }: Judging,
): Verdict {
  if (secret === undefined) return 'not-verified';
  const { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signatures } = headers;
  if (typeof id !== 'string' || typeof seconds !== 'string' || typeof signatures !== 'string')
    return 'wrong-signature';
  if (!/^\d{1,12}$/.test(seconds)) return 'wrong-signature';
  const sentMs = Number(seconds) * 1000;
  const expected = signatureHeaders(id, sentMs, body, [secret]);
  const standard = signatures.split(' ').some((each) => areEqual(each, expected['webhook-signature']!));
  const hex = HEX_NAMES.some((name) => areEqual(String(headers[name]), expected['X-Audit-Signature']!));
  if (!standard || !hex) return 'wrong-signature';
  return Math.abs(nowMs - sentMs) > AGE_MS_MAX ? 'too-old' : 'verified';
}

function areEqual(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function jsonIn(body: Uint8Array): unknown {
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    if (error instanceof EvidenceError || error instanceof TypeError) return undefined;
    throw error;
  }
}

/** What happened, by whom and to what, of each type of notification. */
function summaryOf(notification: Record<string, unknown>): string {
  const [event, violation, threshold, system, exported] = [
    'event',
    'violation',
    'threshold',
    'system',
    'export',
  ].map((member) => membersOf(notification[member]));
  const actor = membersOf(event!['actor']);
  const resource = membersOf(event!['resource']);
  const words: unknown[] = [
    event!['action'],
    resource['resourceType'],
    resource['resourceId'],
    ...(event!['actor'] === undefined
      ? []
      : ['by', actor['userId'] ?? actor['serviceId'] ?? actor['actorType']]),
    violation!['policyName'],
    violation!['violationType'],
    violation!['severity'],
    threshold!['name'],
    threshold!['observedValue'],
    ...(threshold!['name'] === undefined ? [] : ['of', threshold!['threshold']]),
    system!['kind'],
    system!['component'],
    system!['status'],
    exported!['exportId'],
    exported!['status'],
  ];
  return words.filter((word) => typeof word === 'string' || typeof word === 'number').join(' ');
}
