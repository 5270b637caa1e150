// What has decided the classification and the retention of an event: kept with it, as one text for all events that were decided
// alike, so that it can be explained when the policies are others.

import type { Classification, PolicyId, RuleMatch } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';

export type MatchedRule = RuleMatch;

export interface DecidedBy {
  readonly classification: readonly MatchedRule[];
  readonly retention: readonly MatchedRule[];
  readonly hint?: Classification;
  /** Policies that have decided, where so many rules have that none of theirs is named. */
  readonly also?: readonly PolicyId[];
}

/** The policies whose rules have won. */
export function decidingPolicies(text: string): readonly PolicyId[] {
  return kept(text).deciding;
}

/** Those of the rules that are named. */
export function decidingIn({ classification, retention }: DecidedBy): readonly PolicyId[] {
  const won = [...classification, ...retention].filter(({ decided }) => decided);
  return [...new Set(won.map(({ policyId }) => policyId))];
}

/** No hash covers it, so somebody may have changed it: then it says nothing. */
export function readDecidedBy(text: string | undefined): DecidedBy {
  return text === undefined ? NOTHING : kept(text).read;
}

const NOTHING: DecidedBy = { classification: [], retention: [] };

interface Kept {
  readonly read: DecidedBy;
  readonly deciding: readonly PolicyId[];
}

/** By their texts: many events have the same. */
const known = new Map<string, Kept>();
const KNOWN_MAX = 1000;

function kept(text: string): Kept {
  let found = known.get(text);
  if (found === undefined) {
    const read = decidedIn(text);
    found = { read, deciding: [...decidingIn(read), ...(read.also ?? [])] };
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(text, found);
  }
  return found;
}

function decidedIn(text: string): DecidedBy {
  try {
    const read = parseJson(text) as DecidedBy;
    const isSound = [read.classification, read.retention].every(
      (rules) => Array.isArray(rules) && rules.every((rule) => typeof rule.policyId === 'string'),
    );
    const isListed = (read.also ?? []).every((policyId) => typeof policyId === 'string');
    return isSound && isListed ? read : NOTHING;
  } catch {
    return NOTHING;
  }
}
