// Matches the rules in a file to those that the service has. Files contain no rule ids, but a rule that stays must keep its id:
// decisions and violations refer to it. Rules match by name; if that is not unique, by equal content; and else by position,
// unless both have names and these differ.

import type { Rule, RuleConfiguration } from '@tallystick/contract';
import { type RuleForm, ruleForm } from './policy-form.ts';

/** The rules of the file, with the ids of the rules they match; new rules have none. */
export function withRuleIds(
  filed: readonly RuleConfiguration[],
  served: readonly Rule[],
): (RuleForm & Pick<RuleConfiguration, 'ruleId'>)[] {
  const [ours, theirs] = [filed.map(knownBy), served.map(knownBy)];
  const ids = new Map<number, string>();
  const left = new Set(theirs.keys());
  const match = (own: number, other: number | undefined) => {
    if (other === undefined || !left.delete(other)) return;
    ids.set(own, served[other]!.ruleId);
  };
  for (const keyOf of waysToKnow(ours, theirs)) {
    const others = Map.groupBy(left, (other) => keyOf(theirs[other]!));
    for (const [own, rule] of ours.entries()) {
      const key = ids.has(own) ? undefined : keyOf(rule);
      if (key !== undefined) match(own, others.get(key)?.shift());
    }
  }
  for (const [own, rule] of ours.entries())
    if (!ids.has(own) && left.has(own) && mayBeOne(rule, theirs[own]!)) match(own, own);
  return ours.map(({ form }, i) => ({ ...(ids.has(i) && { ruleId: ids.get(i)! }), ...form }));
}

interface KnownRule {
  readonly ruleId: string | undefined;
  readonly form: RuleForm;
  /** Its content, with and without the name. */
  readonly text: string;
  readonly unnamedText: string;
}

function knownBy(rule: RuleConfiguration | Rule): KnownRule {
  const form = ruleForm(rule);
  const { name: _, ...unnamed } = form;
  return { ruleId: rule.ruleId, form, text: JSON.stringify(form), unnamedText: JSON.stringify(unnamed) };
}

/** The most certain first. */
function waysToKnow(
  ours: readonly KnownRule[],
  theirs: readonly KnownRule[],
): ((rule: KnownRule) => string | undefined)[] {
  const [once, there] = [namesOnce(ours), namesOnce(theirs)];
  return [
    // A file may be a saved answer of the service.
    ({ ruleId }) => ruleId,
    ({ form: { name } }) => (name !== undefined && once.has(name) && there.has(name) ? name : undefined),
    ({ text }) => text,
    ({ unnamedText }) => unnamedText,
  ];
}

function namesOnce(rules: readonly KnownRule[]): ReadonlySet<string | undefined> {
  const byName = Map.groupBy(rules, ({ form }) => form.name);
  return new Set([...byName].flatMap(([name, all]) => (all.length === 1 ? [name] : [])));
}

function mayBeOne({ form: { name: one } }: KnownRule, { form: { name: other } }: KnownRule): boolean {
  return one === undefined || other === undefined || one === other;
}
