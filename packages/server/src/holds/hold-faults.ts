// The rules for holds that no schema states: what conditions may be, that a range ends behind its beginning, and how many holds a
// tenant may have. Every event that is shown is judged by all active ones, in the process that serves every tenant.

import { type ErrorDetail, LIMITS } from '@tallystick/contract';
import { receivedMember } from '../call.ts';
import { parseConditions } from '../policies/condition.ts';
import { above, sumsOf } from '../policies/policy-budget.ts';
import type { HoldRecord } from './hold.ts';

/** Of anything that was received: the schema reports what is no hold at all. */
export function holdFaults(hold: unknown): readonly ErrorDetail[] {
  const conditions = receivedMember(hold, 'conditions') ?? undefined;
  const range = receivedMember(hold, 'range');
  const [from, to] = [receivedMember(range, 'fromSequence'), receivedMember(range, 'toSequence')];
  const isBackwards = typeof from === 'number' && typeof to === 'number' && from > to;
  return [
    ...(conditions === undefined ? [] : (parseConditions(conditions, 'conditions').faults ?? [])),
    ...(isBackwards
      ? [{ field: 'range.toSequence', issue: 'must not be before fromSequence', value: to }]
      : []),
  ];
}

/** The limits that a new hold would exceed. `all` are those of the tenant, released ones too. */
export function holdBudgetFaults(hold: HoldRecord, all: readonly HoldRecord[]): readonly ErrorDetail[] {
  const there = [...all, hold];
  const active = there.filter(({ status }) => status === 'Active');
  const { conditions, detectors, searches } = sumsOf(active.map(ruleOf));
  const length = there.reduce((sum, each) => sum + lengthOf(each), 0);
  return [
    ...above('', active.length, LIMITS.activeHoldsMax, 'active holds of a tenant'),
    ...above('', there.length, LIMITS.holdRecordsMax, 'holds of a tenant, with those that are released'),
    ...above('conditions', length, LIMITS.holdsLengthMax, 'characters of JSON in all holds of a tenant'),
    ...above(
      'conditions',
      conditions,
      LIMITS.activeConditionsMax,
      'conditions in the active holds of a tenant',
    ),
    ...above(
      'conditions',
      detectors,
      LIMITS.activeDetectorsMax,
      'conditions with detects in the active holds of a tenant',
    ),
    ...above(
      'conditions',
      searches,
      LIMITS.activeSearchesMax,
      'conditions with contains or [*] in the active holds of a tenant',
    ),
  ];
}

/** What it costs is measured once: a hold never changes. */
const lengths = new WeakMap<HoldRecord, number>();

function lengthOf(hold: HoldRecord): number {
  let length = lengths.get(hold);
  if (length === undefined) lengths.set(hold, (length = JSON.stringify(hold).length));
  return length;
}

function ruleOf({ holdId: ruleId, conditions = {} }: HoldRecord) {
  return { ruleId, conditions };
}
