// Why a reader sees an event as it is shown: the clearance that counts for it, what is redacted, and the Access rules that match.

import type { AuditEvent, EventExplanation } from '@tallystick/contract';
import type { Call } from '../call.ts';
import { accessJudge, type AccessRule } from './access-rules.ts';
import type { EventFacts } from './event-facts.ts';
import { conditionsOf } from './condition.ts';
import { matchedValues } from './matched-values.ts';
import { areSeen } from './seen-conditions.ts';
import { ownClearance, sightOf } from './sight.ts';

/** Leaves out rules that are about anything that this reader does not see. `facts` are those that the reader sees. */
export function explainAccess(
  call: Call,
  { kind, redaction }: Pick<AuditEvent, 'kind' | 'redaction'>,
  facts: EventFacts,
): EventExplanation['access'] {
  const { access } = sightOf(call).index;
  const known = (rules: readonly AccessRule[]) =>
    rules.filter((rule) => areSeen(conditionsOf(rule), redaction));
  // Notices are shown whole to everybody.
  const judgement =
    access &&
    kind === 'Event' &&
    accessJudge({ ...access, rules: known(access.rules), classifying: known(access.classifying) })(facts);
  if (!judgement) return { clearance: ownClearance(call), ...(redaction && { redaction }), rules: [] };
  const { clearance, matched } = judgement;
  return {
    clearance,
    ...(redaction && { redaction }),
    rules: matched.map(({ conditions, effect, ...match }) => ({
      ...match,
      decided: effect.maxClassification === clearance || (effect.redactFields?.length ?? 0) > 0,
      values: matchedValues(conditionsOf({ conditions, ruleId: match.ruleId }), facts),
    })),
  };
}
