// What has decided the classification and the retention of an event: kept with it, as one text for all events that were decided
// alike, so that it can be explained when the policies are others.

import type { Classification, PolicyId, RuleMatch } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';

export type MatchedRule = RuleMatch;

export interface DecidedBy {
  readonly classification: readonly MatchedRule[];
  readonly retention: readonly MatchedRule[];
  readonly hint?: Classification;
}

/** The policies whose rules have won. */
export function decidingPolicies(text: string): readonly PolicyId[] {
  return kept(text).deciding;
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
    const won = [...read.classification, ...read.retention].filter(({ decided }) => decided);
    found = { read, deciding: [...new Set(won.map(({ policyId }) => policyId))] };
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
    return isSound ? read : NOTHING;
  } catch {
    return NOTHING;
  }
}
