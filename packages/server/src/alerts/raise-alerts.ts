// What the matches of some entries raise, in the order of the log: a violation for each match of a rule without a threshold, and
// one when a count reaches its threshold. A window begins with the first match of its group, by when events were received. Once it
// has raised its violation it raises nothing more until it ends.

import type { Classification } from '@tallystick/contract';
import { higher } from '../access/roles.ts';
import { expiryAfter } from '../runtime/expiry.ts';
import type { AlertGroup, AlertRule } from './alert-rules.ts';
import type { AlertChanges, NewViolation, ThresholdWindow, WindowKey } from './violations.ts';

/** One event and one of the rules that it matches. */
export interface AlertMatch {
  readonly rule: AlertRule;
  readonly eventId: string;
  readonly receivedAtMs: number;
  readonly classification: Classification;
  readonly fields: readonly string[] | undefined;
  /** Undefined: the rule has no threshold. */
  readonly group: AlertGroup | undefined;
}

export interface RaiseParts {
  readonly nextId: () => string;
  readonly nowMs: number;
}

/** The windows that must be read before. */
export function windowKeysOf(matches: readonly AlertMatch[]): WindowKey[] {
  const keys = matches.flatMap(({ rule: { ruleKey }, group }) =>
    group === undefined ? [] : [{ ruleKey, groupKey: group.groupKey }],
  );
  return [...new Map(keys.map((key) => [nameOf(key), key])).values()];
}

/** `untilMs` is when the last of the entries was received. */
export function raiseAlerts(
  matches: readonly AlertMatch[],
  known: readonly ThresholdWindow[],
  untilMs: number,
  parts: RaiseParts,
): AlertChanges {
  const windows = new Map(known.map((window) => [nameOf(window), window]));
  const changed = new Map<string, ThresholdWindow>();
  const violations: NewViolation[] = [];
  for (const match of matches) {
    const { threshold } = match.rule;
    if (threshold === undefined || match.group === undefined) {
      violations.push(violationOf(match, parts));
      continue;
    }
    const name = nameOf({ ruleKey: match.rule.ruleKey, groupKey: match.group.groupKey });
    const window = countedOn(windows.get(name), match, match.group);
    windows.set(name, window);
    changed.set(name, window);
    if (window.count === threshold.count) violations.push(crossingOf(match, window, parts));
  }
  const open = [...changed.values()].filter(({ endsAtMs }) => endsAtMs > untilMs);
  return { violations, windows: open, nowMs: untilMs };
}

function countedOn(
  window: ThresholdWindow | undefined,
  { rule, receivedAtMs, classification }: AlertMatch,
  { groupKey }: AlertGroup,
): ThresholdWindow {
  if (window !== undefined && receivedAtMs < window.endsAtMs)
    return { ...window, count: window.count + 1, highest: higher(window.highest, classification) };
  return {
    ruleKey: rule.ruleKey,
    groupKey,
    beginsAtMs: receivedAtMs,
    endsAtMs: expiryAfter(receivedAtMs, rule.threshold!.window),
    count: 1,
    highest: classification,
  };
}

function violationOf(match: AlertMatch, { nextId, nowMs }: RaiseParts): NewViolation {
  const { rule, eventId, classification, fields } = match;
  return {
    ...rule.source,
    violationId: nextId(),
    kind: 'Violation',
    eventId,
    classification,
    highest: classification,
    fields,
    detectedAtMs: nowMs,
  };
}

function crossingOf(match: AlertMatch, { count, highest }: ThresholdWindow, parts: RaiseParts): NewViolation {
  return {
    ...violationOf(match, parts),
    kind: 'Threshold',
    highest,
    groupKey: match.group?.shown,
    observedValue: count,
    threshold: match.rule.threshold,
  };
}

function nameOf({ ruleKey, groupKey }: WindowKey): string {
  return `${ruleKey} ${groupKey}`;
}
