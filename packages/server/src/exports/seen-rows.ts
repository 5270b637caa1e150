// Events as the reader of an export sees them, as rows of its format. Most readers see most events whole, and formats made of JSON
// take the stored texts of those as they are: nothing is parsed.

import type { EventId } from '@tallystick/contract';
import { KIND_AT, KINDS } from '@tallystick/evidence';
import { factsShown } from '../events/facts-shown.ts';
import { placeOf, type Published, showEvent, writtenWhole } from '../events/show.ts';
import { judgeOf } from '../holds/hold-judge.ts';
import { conditionsOf } from '../policies/condition.ts';
import { RuleSet } from '../policies/rule-set.ts';
import { areSeen } from '../policies/seen-conditions.ts';
import { judgeBy } from '../policies/sight.ts';
import type { StoredEvent } from '../streams/log.ts';
import { type Format, formatOf } from './formats/format.ts';
import type { AlteredEvent, Piece, ShapingPlan, Withheld } from './shaping.ts';

export interface Rows extends Pick<Piece, 'withheld' | 'altered' | 'purged'> {
  readonly text: string;
  readonly shown: readonly StoredEvent[];
}

/** An export waits for a checkpoint over all of it; what has cosigned that meanwhile depends on the moment. */
const ALL_CHECKPOINTED = { endIndex: Number.MAX_SAFE_INTEGER, witnessedEndIndex: 0 };

/** Of what the bundle has lines. */
const NO_ROWS = { between: '', write: () => '', writeText: () => '' };

type Seen =
  | { readonly row: string }
  | { readonly eventId: EventId; readonly fault: string }
  /** Why it is not in the export; undefined: it does not belong to it. */
  | { readonly withheld: keyof Withheld | undefined };

/** `isFirst`: no row stands before them. */
export type WriteRows = (stored: readonly StoredEvent[], isFirst: boolean) => Rows;

export function rowWriter(plan: ShapingPlan): WriteRows {
  const format = plan.evidence === undefined ? formatOf(plan.format, plan.contentColumns) : NO_ROWS;
  const see = seeing(plan, format);
  return (stored, isFirst) => {
    const shown: StoredEvent[] = [];
    const altered: AlteredEvent[] = [];
    const withheld = { clearance: 0, purged: 0 };
    let purged: number | undefined;
    let text = '';
    for (const each of stored) {
      const { content, index } = each;
      if (content !== undefined && 'purgedAtMs' in content && content.noticeIndex >= plan.endIndex)
        purged ??= index;
      const seen = see(each);
      if ('row' in seen) {
        text += isFirst && shown.length === 0 ? seen.row : format.between + seen.row;
        shown.push(each);
      } else if ('fault' in seen) altered.push({ ...seen, index });
      else if (seen.withheld !== undefined) withheld[seen.withheld]++;
    }
    return { text, shown, altered, purged, withheld };
  };
}

function seeing(
  { tenant, sight: index, keepers, logStarts, kinds, conditions }: ShapingPlan,
  { write, writeText }: Pick<Format, 'write' | 'writeText'>,
): (stored: StoredEvent) => Seen {
  const sight = { index, judge: (event: Parameters<typeof judgeBy>[1]) => judgeBy(index, event) };
  const judges = { sight, holds: judgeOf(keepers) };
  const logs: readonly Published[] = logStarts.map((firstIndex) => ({ firstIndex, ...ALL_CHECKPOINTED }));
  const asked = conditions && conditionsOf({ conditions, ruleId: 'criteria' });
  const rules = asked && new RuleSet([asked]);
  const isPlain = rules === undefined && judges.holds.isEmpty && index.access === undefined;
  const isSeenWhole = ({ entry, classification }: StoredEvent) => {
    const kind = entry[KIND_AT] === KINDS.event ? 'Event' : 'Notice';
    if (!kinds.includes(kind)) return false;
    return judgeBy(index, { kind, classification, facts: () => undefined }).extent === 'Whole';
  };
  return (stored) => {
    const log = logs.find(({ firstIndex }) => firstIndex <= stored.index)!;
    const text =
      isPlain && writeText !== undefined && isSeenWhole(stored)
        ? writtenWhole(tenant, stored, log)
        : undefined;
    if (text !== undefined) return { row: writeText!(text) };
    const shown = showEvent(tenant, stored, judges, log);
    if ('fault' in shown) return { eventId: placeOf(stored, log).eventId, fault: shown.fault };
    if (!('event' in shown)) return { withheld: shown.withheld === 'Purged' ? 'purged' : 'clearance' };
    if (!kinds.includes(shown.event.kind)) return { withheld: undefined };
    if (rules === undefined) return { row: write(shown.event) };
    // What is withheld matches nothing.
    const isMatched = areSeen(asked!, shown.hidden) && rules.matching(factsShown(shown.event)).length > 0;
    return isMatched ? { row: write(shown.event) } : { withheld: undefined };
  };
}
