// What a reader sees of an event, straight from the sentences of the contract, on the JSON as it was sent: slow and plain,
// for what the service shows to be compared with. Expects sound policies.

import {
  type Classification,
  CLASSIFICATIONS,
  type Role,
  type RuleEffect,
  ROLES,
} from '@tallystick/contract';
import { plainlyHold } from './plain-condition.ts';

export interface SentRule {
  readonly conditions: Readonly<Record<string, unknown>>;
  readonly effect: RuleEffect;
}

export interface SentPolicy {
  readonly name: string;
  readonly policyType: 'Access' | 'Classification' | 'Retention' | 'Alert';
  readonly priority: number;
  readonly rules: readonly SentRule[];
}

export interface SentHold {
  readonly name: string;
  readonly conditions?: SentRule['conditions'];
  readonly range?: { readonly fromSequence: number; readonly toSequence: number };
}

export type Members = Readonly<Record<string, unknown>>;

export interface SentEvent {
  readonly eventId: string;
  readonly timestamp: string;
  readonly correlationId: string;
  readonly actor: Members;
  readonly action: string;
  readonly resource: Members;
  readonly outcome: string;
  /** The hint. */
  readonly classification?: Classification;
  readonly context?: Members;
  readonly payload?: Members;
}

export interface Reader {
  readonly roles: readonly Role[];
  readonly clearance: Classification;
}

/** What a reader gets of an event. */
export interface PlainlySeen {
  readonly event: Omit<SentEvent, 'classification'> & { readonly classification: Classification };
  readonly redaction: { readonly fields: readonly string[]; readonly reason: string } | undefined;
  /** The explanation names it. */
  readonly hint: Classification | undefined;
  readonly retentionDays: number;
  /** The Alert rules, by their places, that a violation tells of. */
  readonly raised: readonly number[];
}

/** All that is sent as a period. */
export const RETENTION_DAYS: Readonly<Record<string, number>> = { P30D: 30, P1Y: 365, P12M: 365, P7Y: 2557 };

/** Undefined: the reader may not know of it. */
export function plainlySeen(
  sent: SentEvent,
  policies: readonly SentPolicy[],
  { roles, clearance }: Reader,
): PlainlySeen | undefined {
  const { classification: hint, ...facts } = sent;
  const matching = (type: SentPolicy['policyType'], event: object) =>
    rulesOf(policies, type).filter(({ conditions }) => plainlyHold(conditions, event));
  const event = { ...facts, classification: plainlyClassified(sent, policies) };
  const rank = rankOf(event.classification);
  // The longest wins.
  const kept = matching('Retention', event).map(({ effect }) => RETENTION_DAYS[effect.retentionPeriod!]!);
  const concerning = matching('Access', event).filter(({ effect }) =>
    effect.roles!.some((role) => roles.includes(role)),
  );
  // Deny wins.
  if (concerning.some(({ effect }) => effect.access === 'Deny')) return undefined;
  const ofRoles = Math.max(...roles.map((role) => rankOf(ROLES[role].clearance)));
  const stated = rankOf(clearance) === ofRoles ? undefined : rankOf(clearance);
  const byRoles = roles.map((role) => clearanceAs(role, concerning, stated ?? rankOf(ROLES[role].clearance)));
  // One that is stated, and below those of the roles, is a limit.
  const cleared = Math.min(
    Math.max(...byRoles),
    stated !== undefined && stated < ofRoles ? stated : Infinity,
  );
  // Secret is invisible below Confidential.
  if (event.classification === 'Secret' && cleared < rankOf('Confidential')) return undefined;
  const isWithheld = cleared < rank;
  const hiding = [...concerning, ...(isWithheld ? matching('Classification', event) : [])];
  return {
    ...redacted(
      event,
      isWithheld,
      hiding.flatMap(({ effect }) => effect.redactFields ?? []),
    ),
    hint,
    retentionDays: kept.length === 0 ? RETENTION_DAYS['P7Y']! : Math.max(...kept),
    raised: raisedBy(rulesOf(policies, 'Alert'), event),
  };
}

/**
 * Whether a reader is told that an event is held: by holds, and by rules with `legalHold`, that cover it and ask for nothing of
 * which something is withheld.
 */
export function plainlyHeld(
  event: object,
  sequence: number,
  holds: readonly SentHold[],
  policies: readonly SentPolicy[],
  redaction: PlainlySeen['redaction'],
): boolean {
  const ruled = rulesOf(policies, 'Retention').filter(({ effect }) => effect.legalHold === true);
  const withheld = redaction?.fields ?? [];
  const isTold = (path: string) =>
    /^(payload|context)/.test(path)
      ? !withheld.some((field) => field.split(/[.[]/)[0] === path.split(/[.[]/)[0])
      : !withheld.includes(path);
  return [...holds, ...ruled.map(({ conditions }): SentHold => ({ name: '', conditions }))].some(
    ({ conditions = {}, range }) =>
      plainlyHold(conditions, event) &&
      (range === undefined || (sequence >= range.fromSequence && sequence <= range.toSequence)) &&
      Object.keys(conditions).every(isTold),
  );
}

/** The highest match wins, no match is Internal; the hint may raise, never lower it. */
export function plainlyClassified(sent: SentEvent, policies: readonly SentPolicy[]): Classification {
  const decided = rulesOf(policies, 'Classification')
    .filter(({ conditions }) => plainlyHold(conditions, sent))
    .map(({ effect }) => rankOf(effect.classification!));
  const rank = decided.length === 0 ? rankOf('Internal') : Math.max(...decided);
  return CLASSIFICATIONS[Math.max(rank, rankOf(sent.classification ?? 'Public'))]!;
}

function rulesOf(policies: readonly SentPolicy[], type: SentPolicy['policyType']): SentRule[] {
  return policies.filter(({ policyType }) => policyType === type).flatMap(({ rules }) => rules);
}

function rankOf(classification: Classification): number {
  return CLASSIFICATIONS.indexOf(classification);
}

/** `maxClassification` replaces the clearance; the lowest of several wins. */
function clearanceAs(role: Role, rules: readonly SentRule[], own: number): number {
  const limits = rules.flatMap(({ effect: { roles, maxClassification } }) =>
    roles!.includes(role) && maxClassification !== undefined ? [rankOf(maxClassification)] : [],
  );
  return limits.length === 0 ? own : Math.min(...limits);
}

/** One that counts by a value counts the events that have it. */
function raisedBy(rules: readonly SentRule[], event: object): number[] {
  return [...rules.keys()].filter((i) => {
    const { conditions, effect } = rules[i]!;
    const groupBy = effect.threshold?.groupBy;
    const isCounted = groupBy === undefined || plainlyHold({ [groupBy]: { exists: true } }, event);
    return isCounted && plainlyHold(conditions, event);
  });
}

function redacted(
  event: PlainlySeen['event'],
  isWithheld: boolean,
  paths: readonly string[],
): Pick<PlainlySeen, 'event' | 'redaction'> {
  let shown: unknown = isWithheld ? { ...event, context: {}, payload: {} } : event;
  const found = new Set<string>();
  // What is hidden as a whole does not tell what else would be hidden in it.
  const steps = paths.map((path) => path.replaceAll('[', '.[').split('.'));
  for (const each of steps.toSorted((a, b) => a.length - b.length)) shown = hidden(shown, each, '', found);
  const fields = [...(isWithheld ? ['payload', 'context'] : []), ...[...found].toSorted()];
  const reason = isWithheld ? 'ClassificationAboveClearance' : 'AccessPolicy';
  return {
    event: shown as PlainlySeen['event'],
    redaction: fields.length === 0 ? undefined : { fields: [...new Set(fields)], reason },
  };
}

/** Steps are keys, and `[0]` or `[*]` for elements. */
function hidden(
  value: unknown,
  [step, ...below]: readonly string[],
  at: string,
  found: Set<string>,
): unknown {
  if (step === undefined) {
    found.add(at);
    return /[.[]/.test(at) ? '[REDACTED]' : {};
  }
  const inside = (member: unknown, key: string | number) =>
    hidden(
      member,
      below,
      at === '' ? String(key) : typeof key === 'number' ? `${at}[${key}]` : `${at}.${key}`,
      found,
    );
  if (Array.isArray(value))
    return value.map((item: unknown, i) => (step === '[*]' || step === `[${i}]` ? inside(item, i) : item));
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return value;
  return { ...value, [step]: inside((value as Members)[step], step) };
}
