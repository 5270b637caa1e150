// What a policy would have done: how many events match one of its rules, of those that its author may read as a whole. Others
// are left out: the number of matches would tell what is in them.

import type { AuditEvent, Classification, PolicyImpact, TimeRange } from '@tallystick/contract';
import type { Call } from '../call.ts';
import { readDecidedBy } from '../policies/decided-by.ts';
import type { EventFacts } from '../policies/event-facts.ts';
import { isReadNoted, sightOf } from '../policies/sight.ts';
import { pausesBy } from '../runtime/pause.ts';
import { EVERYTHING } from '../query/query.ts';
import type { EventIndex, FoundEvent, SortKey } from './event-index.ts';
import { factsShown } from './facts-shown.ts';
import { type FoundPageParts, showFound } from './found-page.ts';
import { readSort, readTimeRange } from './question.ts';

export interface PolicyImpactParts extends FoundPageParts {
  readonly index: EventIndex;
}

export type MeasureImpact = (
  call: Call,
  matches: (facts: EventFacts, hint: Classification | undefined) => boolean,
  timeRange: TimeRange | undefined,
) => Promise<MeasuredImpact>;

export interface MeasuredImpact {
  readonly impact: PolicyImpact;
  /** Events that the author sees, and that were not looked at. */
  readonly leftOut: number;
}

/** The newest ones. */
const SAMPLED_MAX = 1000;
/** Of a time range. */
const SAMPLED_IN_RANGE_MAX = 10_000;
const PORTION = 500;
/** Then the sample is what was looked at until then: rules can be so many that each event takes milliseconds. */
const SAMPLING_MS_MAX = 10_000;
const SHOWN_IDS = 3;

/** Of a secret event each read is recorded, and what is withheld is not looked at. */
function isSampled(event: AuditEvent): boolean {
  return !isReadNoted(event) && !(event.redaction?.fields.includes('payload') ?? false);
}

/** What its sender asked for. */
function hintOf({ stored: { content } }: FoundEvent): Classification | undefined {
  return content !== undefined && 'texts' in content ? readDecidedBy(content.decidedBy).hint : undefined;
}

export function createPolicyImpact(parts: PolicyImpactParts): MeasureImpact {
  return async (call, matches, timeRange) => {
    const max = timeRange === undefined ? SAMPLED_MAX : SAMPLED_IN_RANGE_MAX;
    const sight = sightOf(call).index;
    let [readEvents, sampledEvents, matchedEvents, leftOut] = [0, 0, 0, 0];
    const sampleEventIds: string[] = [];
    const pause = pausesBy(parts.clock);
    const endNs = parts.clock.monotonicNs() + SAMPLING_MS_MAX * 1e6;
    const isOver = () => parts.clock.monotonicNs() > endNs;
    for (let beyond: SortKey | undefined; call.tenantRecord !== undefined; ) {
      const found = await parts.index.forTenant(call.tenant!).find(
        {
          query: EVERYTHING,
          filters: timeRange === undefined ? {} : readTimeRange(timeRange),
          sight,
          order: readSort(['-timestamp']),
          direction: 'Next',
          beyond,
          rowsMax: Math.min(PORTION, max - readEvents),
          aggregations: [],
          isScored: false,
        },
        call.deadline,
      );
      for (const { event, found: match } of await showFound(call, found.events, parts)) {
        if (isOver()) break;
        if (!isSampled(event)) {
          leftOut++;
          continue;
        }
        sampledEvents++;
        const isMatched = matches(factsShown(event), hintOf(match));
        await pause();
        call.deadline.throwIfPassed();
        if (!isMatched) continue;
        matchedEvents++;
        if (sampleEventIds.length < SHOWN_IDS) sampleEventIds.push(event.eventId);
      }
      readEvents += found.events.length;
      beyond = found.events.at(-1)?.place;
      const isMore = found.events.length === PORTION || found.isCut;
      if (!isMore || beyond === undefined || readEvents >= max || isOver()) break;
    }
    return { impact: { sampledEvents, matchedEvents, sampleEventIds }, leftOut };
  };
}
