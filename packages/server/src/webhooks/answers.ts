// What the history of a delivery keeps of the consumer's answers, and who sees it. An answer may repeat anything that it was sent. So the
// subscription's secrets are masked, an answer about confidential content is not kept, and a redaction or an erasure forgets all answers
// of the tenant.

import { type Classification, type DeliveryAttempt, LIMITS, type TenantId } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import { isAtLeast } from '../access/roles.ts';
import type { Call } from '../call.ts';
import { isDecidedByRules, ownClearance, REDACTED } from '../policies/sight.ts';
import { pauseForOthers } from '../runtime/pause.ts';
import type { WorkStore } from '../work/jobs.ts';
import type { Told } from './contents.ts';
import { DELIVERY } from './task.ts';

const KEPT_UP_TO: Classification = 'Internal';
/** Shorter ones occur in ordinary text by chance. */
const SECRET_LENGTH_MIN = 4;
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** How the answer begins, as one line of text. A secret is masked as a whole, even if the end of the text would cut it. */
export function answerText(body: Uint8Array, secrets: Iterable<string>): string {
  const { deliveryAnswerLengthMax: lengthMax } = LIMITS;
  const text = Buffer.from(body).toString('utf8');
  let shown = '';
  let end = 0;
  for (const { index, 0: secret } of text.matchAll(anyOf(secrets))) {
    if (index >= lengthMax) break;
    shown += text.slice(end, index) + REDACTED;
    end = index + secret.length;
  }
  shown += text.slice(end, Math.max(end, lengthMax));
  return shown.slice(0, lengthMax).toWellFormed().replaceAll(UNPRINTABLE, ' ');
}

/** The longest first, so that a secret is not masked only as far as a shorter one goes. */
function anyOf(secrets: Iterable<string>): RegExp {
  const spelled = new Set([...secrets].flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]));
  const long = [...spelled].filter(({ length }) => length >= SECRET_LENGTH_MIN);
  const patterns = long
    .toSorted((a, b) => b.length - a.length)
    .map((secret) => secret.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(patterns.length === 0 ? '(?!)' : patterns.join('|'), 'g');
}

/** The answers to keep, with this one; undefined: keep what is there. */
export async function heardWith(
  heard: string | undefined,
  { at, responseBody }: DeliveryAttempt,
  told: Told,
): Promise<string | undefined> {
  if (responseBody === undefined) return undefined;
  if (told.classification !== undefined && !isAtLeast(KEPT_UP_TO, told.classification)) return undefined;
  // A removal while the job is held is the job store's business (forgetHeard); this catches one just before it was claimed.
  if (!(await told.isUnchanged().catch(() => false))) return undefined;
  const all = [...Object.entries(answersIn(heard)), [at, responseBody]];
  return JSON.stringify(Object.fromEntries(all.slice(-LIMITS.deliveryAttemptsMax)));
}

/** By the time of the attempt. */
export function answersIn(heard: string | undefined): Readonly<Record<string, string>> {
  return heard === undefined ? {} : (parseJson(heard) as Record<string, string>);
}

/** Of all deliveries of a tenant. */
export async function forgetAnswers(tenant: TenantId, work: Pick<WorkStore, 'forTenant'>): Promise<void> {
  while (await work.forTenant(tenant).forgetHeard(DELIVERY)) await pauseForOthers();
}

/**
 * True for readers who see everything that an answer may repeat. The rights of the subscription do not count: callers who may manage it
 * could lower its clearance, or become its author.
 */
export function maySeeAnswers(call: Pick<Call, 'caller' | 'tenantRecord'>): boolean {
  return isAtLeast(ownClearance(call), KEPT_UP_TO) && !isDecidedByRules(call);
}
