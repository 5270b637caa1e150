// Says whether a policy would be accepted, what is odd about it, and which stored events its rules match.

import type { Answer, ErrorDetail, InputOf, PolicyTrial } from '@tallystick/contract';
import type { Call } from '../call.ts';
import type { MeasureImpact } from '../events/policy-impact.ts';
import { timeRangeFaults } from '../events/question.ts';
import { receivedMember } from '../call.ts';
import type { Clock } from '../runtime/clock.ts';
import { pauseForOthers, pausesBy } from '../runtime/pause.ts';
import { compileConditions } from './compile-condition.ts';
import { conditionsOf } from './condition.ts';
import type { Policies } from './policies.ts';
import { budgetFaults } from './policy-budget.ts';
import { policyFaults } from './policy-faults.ts';
import { type PolicyRecord, ruleOf } from './policy.ts';
import { warningsOf } from './warnings.ts';

type SchemaFaults = (value: unknown, at: string) => readonly ErrorDetail[];

export interface ValidatePolicyParts {
  /** The rules of the schema of a trial. */
  readonly schemaFaults: SchemaFaults;
  readonly measureImpact: MeasureImpact;
  readonly policies: Pick<Policies, 'all'>;
  readonly clock: Clock;
}

/** As long as the ids that rules get: the budget counts characters. */
const LAST_ID = '7'.repeat(26);

const NO_IMPACT = { sampledEvents: 0, matchedEvents: 0, sampleEventIds: [] };

export function createValidatePolicy({ schemaFaults, measureImpact, policies, clock }: ValidatePolicyParts) {
  return async (
    call: Call,
    { policy }: InputOf<'policies.validate'>,
  ): Promise<Answer<'policies.validate'>> => {
    const bad = (errors: ErrorDetail[]): Answer<'policies.validate'> => ({
      kind: 'Done',
      body: { valid: false, errors, warnings: [], impact: NO_IMPACT },
    });
    const errors = faultsOf(policy, schemaFaults);
    if (errors.length > 0) return bad(errors);
    await pauseForOthers();
    const all = await policies.all(call.tenant!);
    const replaced = all.find(({ name, status }) => name === policy.name && status !== 'Deleted');
    const tooMuch = budgetFaults(countedOf(policy, replaced), all);
    if (tooMuch.length > 0) return bad(tooMuch);
    await pauseForOthers();
    const pause = pausesBy(clock);
    const { impact, leftOut } = await measureImpact(call, await matcherOf(policy, pause), policy.timeRange);
    await pauseForOthers();
    const warnings = [
      ...nameWarnings(replaced),
      ...(await warningsOf(policy, pause)),
      ...impactWarnings(leftOut),
    ];
    return { kind: 'Done', body: { valid: true, errors: [], warnings, impact } };
  };
}

function nameWarnings(replaced: PolicyRecord | undefined): ErrorDetail[] {
  if (replaced === undefined) return [];
  const issue = `is the name of the policy ${replaced.policyId}, which this one can replace; none can be made beside it`;
  return [{ field: 'name', issue, value: replaced.name }];
}

function impactWarnings(leftOut: number): ErrorDetail[] {
  if (leftOut === 0) return [];
  const events = leftOut === 1 ? '1 event' : `${leftOut} events`;
  const issue = `leaves out ${events}: those that are Secret, of which each read is recorded, and those of which content is withheld from you`;
  return [{ field: 'impact', issue }];
}

/** As it would be kept: new, or in place of the one with its name. */
function countedOf(trial: PolicyTrial, replaced: PolicyRecord | undefined) {
  const { policyId = '' } = replaced ?? {};
  const rules = (trial.rules ?? []).map((rule) => ruleOf(rule, [], () => LAST_ID));
  // A draft is measured as if it were active.
  return { policyId, status: 'Active', rules } as const;
}

function faultsOf(policy: unknown, schemaFaults: SchemaFaults): ErrorDetail[] {
  const bySchema = schemaFaults(policy, '');
  // Of a value that the schema refuses, our own rules would say the same in other words.
  const said = new Set(bySchema.map(({ field }) => field));
  const range = receivedMember(policy, 'timeRange');
  const own = [
    ...policyFaults(policy),
    ...timeRangeFaults(receivedMember(range, 'from'), receivedMember(range, 'to'), 'timeRange'),
  ];
  return [...bySchema, ...own.filter(({ field }) => !said.has(field))];
}

/** Whether any of its rules matches, as its author sees the event. */
async function matcherOf(
  { policyType, rules = [] }: PolicyTrial,
  pause: ReturnType<typeof pausesBy>,
): Promise<Parameters<MeasureImpact>[1]> {
  const all: ReturnType<typeof compileConditions>[] = [];
  for (const rule of rules.filter(({ enabled = true }) => enabled)) {
    await pause();
    all.push(compileConditions(conditionsOf(rule)));
  }
  return (shown, hint) => {
    // While an event is classified, its only known classification is the hint of its sender.
    const facts = policyType === 'Classification' ? { ...shown, classification: hint } : shown;
    return all.some((holdsFor) => holdsFor(facts));
  };
}
