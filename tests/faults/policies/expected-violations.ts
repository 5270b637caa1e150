// What the rules of Alert policies raise, by a plain definition over the log as it is in the end: each version of a policy is in
// force between its notice and the next, and a window begins with the first match of its group. It knows only rules of one
// action, which are all that these tests make.

import assert from 'node:assert/strict';
import type { AlertThreshold, PolicyViolation, Rule } from '@tallystick/contract';
import type { EventInLog } from '../read-log.ts';
import type { StoredVersion } from './stored-policies.ts';

export const KIND = { event: 1, policyChange: 6 } as const;

/** The windows of these tests. */
export const WINDOW_MS: Readonly<Record<string, number>> = { 'PT0.5S': 500, PT3S: 3000, PT1H: 3_600_000 };

/** All that tells one violation from another but its id and the time. */
export type Told = string;

export function told(violation: PolicyViolation): Told {
  const { eventId, policyId, policyVersion, ruleId, kind, groupKey, observedValue } = violation;
  return [eventId, policyId, policyVersion, ruleId, kind, groupKey ?? '-', observedValue ?? '-'].join(' ');
}

interface Logged {
  readonly action: string;
  readonly actor: { readonly userId?: string };
  readonly payload?: { readonly policyId: string; readonly policyVersion: number };
}

interface Match {
  readonly eventId: string;
  readonly receivedAtMs: number;
  readonly version: StoredVersion;
  readonly rule: Rule;
  readonly userId: string | undefined;
}

/** Of one tenant, sorted. */
export function expectedViolations(
  log: readonly EventInLog[],
  versions: readonly StoredVersion[],
): readonly Told[] {
  const matches = matchesIn(log, versions);
  const single = matches.filter(({ rule }) => rule.effect.threshold === undefined);
  const counted = matches.filter(({ rule }) => rule.effect.threshold !== undefined);
  // A rule goes on counting in every version that leaves it as it was.
  const groups = Map.groupBy(counted, ({ rule, version, userId }) =>
    JSON.stringify([
      version.policyId,
      rule.ruleId,
      rule.conditions,
      rule.effect.threshold,
      groupOf(rule, userId),
    ]),
  );
  const crossings = [...groups.values()].flatMap(crossingsIn);
  return [...single.map((match) => toldOf(match)), ...crossings].sort();
}

export function contentOf({ texts }: EventInLog): Logged {
  return { ...(JSON.parse(texts[0]) as Logged), ...(JSON.parse(texts[1]) as object) };
}

function matchesIn(log: readonly EventInLog[], versions: readonly StoredVersion[]): Match[] {
  const inForce = new Map<string, StoredVersion>();
  return log.flatMap((entry): Match[] => {
    const { action, actor, payload } = contentOf(entry);
    if (entry.kind === KIND.policyChange) {
      const { policyId, policyVersion } = payload!;
      const version = versions.find((each) => each.policyId === policyId && each.version === policyVersion);
      assert.ok(
        version !== undefined,
        `${policyId} has no version ${policyVersion}, of which there is a notice`,
      );
      inForce.set(policyId, version);
    }
    if (entry.kind !== KIND.event) return [];
    return [...inForce.values()].flatMap((version) => {
      const rules = version.policyType === 'Alert' && version.state === 'Active' ? version.rules : [];
      const matching = rules.filter(({ enabled, conditions }) => enabled && conditions['action'] === action);
      const { eventId, receivedAtMs } = entry;
      return matching.map((rule) => ({ eventId, receivedAtMs, version, rule, userId: actor.userId }));
    });
  });
}

function groupOf({ effect }: Rule, userId: string | undefined): string | undefined {
  return effect.threshold?.groupBy === undefined ? undefined : userId;
}

/** Of one group of one rule, in the order of the log. */
function crossingsIn(matches: readonly Match[]): Told[] {
  const [first] = matches;
  if (first === undefined) return [];
  const { count, window } = first.rule.effect.threshold as AlertThreshold;
  const endMs = first.receivedAtMs + WINDOW_MS[window]!;
  const inside = matches.filter(({ receivedAtMs }) => receivedAtMs < endMs);
  const crossing = inside[count - 1];
  return [
    ...(crossing === undefined ? [] : [toldOf(crossing, count)]),
    ...crossingsIn(matches.slice(inside.length)),
  ];
}

function toldOf({ eventId, version, rule, userId }: Match, count?: number): Told {
  const kind = count === undefined ? 'Violation' : 'Threshold';
  const group = groupOf(rule, userId) ?? '-';
  return [eventId, version.policyId, version.version, rule.ruleId, kind, group, count ?? '-'].join(' ');
}
