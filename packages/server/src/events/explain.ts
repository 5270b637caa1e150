// Why an event is classified, kept and shown as it is: the rules that matched, as this reader may know of them. A rule that is about
// something that the reader does not see is left out: that it matched would tell what is there.

import type { Answer, AuditEvent, InputOf, RuleMatch } from '@tallystick/contract';
import type { Call } from '../call.ts';
import { conditionsOf } from '../policies/condition.ts';
import { explainAccess } from '../policies/explain-access.ts';
import { readDecidedBy } from '../policies/decided-by.ts';
import { matchedValues } from '../policies/matched-values.ts';
import type { Policies } from '../policies/policies.ts';
import { areSeen } from '../policies/seen-conditions.ts';
import { factsShown } from './facts-shown.ts';
import { type GetParts, notFound, readShown } from './get.ts';
import { noteSecretsRead } from './secret-read.ts';

export interface ExplainParts extends GetParts {
  readonly policies: Pick<Policies, 'version'>;
}

export function createExplain(parts: ExplainParts) {
  return async (call: Call, { eventId }: InputOf<'events.explain'>): Promise<Answer<'events.explain'>> => {
    const { stored, shown } = await readShown(call, eventId, parts);
    // Of one that is purged nobody knows any more why.
    if (!('event' in shown)) throw notFound();
    const { event, holdIds } = shown;
    const { content } = stored;
    const decided = readDecidedBy(
      content !== undefined && 'texts' in content ? content.decidedBy : undefined,
    );
    const known = (rules: readonly RuleMatch[]) => rulesKnown(call, event, rules, parts);
    await noteSecretsRead(call, [event], parts);
    return {
      kind: 'Done',
      body: {
        eventId: event.eventId,
        classification: {
          value: event.classification,
          ...(decided.hint !== undefined && { hint: decided.hint }),
          rules: await known(decided.classification),
        },
        retention: {
          ...(event.retention !== undefined && { value: event.retention }),
          rules: await known(decided.retention),
          holdIds: [...holdIds],
        },
        access: explainAccess(call, event, factsShown(event)),
      },
    };
  };
}

/** Those that are about nothing but what this reader sees. */
async function rulesKnown(
  call: Call,
  event: AuditEvent,
  matches: readonly RuleMatch[],
  { policies }: ExplainParts,
): Promise<RuleMatch[]> {
  const facts = factsShown(event);
  const found: RuleMatch[] = [];
  for (const [, ofVersion] of Map.groupBy(
    matches,
    ({ policyId, policyVersion }) => `${policyId} ${policyVersion}`,
  )) {
    const { policyId, policyVersion } = ofVersion[0]!;
    const policy = await policies.version(call.tenant!, policyId, policyVersion);
    for (const match of ofVersion) {
      const rule = policy?.rules.find(({ ruleId }) => ruleId === match.ruleId);
      const conditions = rule && conditionsOf(rule);
      if (conditions !== undefined && areSeen(conditions, event.redaction))
        found.push({ ...match, values: matchedValues(conditions, facts) });
    }
  }
  return found;
}
