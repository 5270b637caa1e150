// Makes pieces of the file of an export: reads events, judges what their reader sees of them, writes them in the format, and packs
// that. It runs in a thread of its own, with a connection of its own, so that an export makes nobody wait. A port: each backend
// brings the log.

import type { Conditions, EventId, ExportFormat, TenantId } from '@tallystick/contract';
import { placeOf, type Published, showEvent } from '../events/show.ts';
import { factsShown } from '../events/facts-shown.ts';
import { judgeOf, type Keeper } from '../holds/hold-judge.ts';
import { conditionsOf } from '../policies/condition.ts';
import { RuleSet } from '../policies/rule-set.ts';
import { areSeen } from '../policies/seen-conditions.ts';
import { type IndexSight, judgeBy } from '../policies/sight.ts';
import type { LogReader, StoredEvent } from '../streams/log.ts';
import { FORMATS } from './formats/format.ts';
import { deflated, type Packed, packedWith } from './packing/deflate.ts';

/** Data alone, since it goes to the thread. */
export interface ShapingPlan {
  readonly tenant: TenantId;
  readonly format: ExportFormat;
  readonly isPacked: boolean;
  readonly sight: IndexSight;
  readonly keepers: readonly Keeper[];
  /** The first index of each log of the tenant, the newest first. */
  readonly logStarts: readonly number[];
  /** Where the snapshot ends. */
  readonly endIndex: number;
  readonly kinds: readonly ('Event' | 'Notice')[];
  /** All must hold for an event as it is seen. */
  readonly conditions: Conditions | undefined;
}

/** What a piece is made of: the next events of the log, or some that an index has found. */
export type Source =
  | { readonly of: 'Log'; readonly from: number }
  | { readonly of: 'Found'; readonly events: readonly StoredEvent[] };

/** How far the file has come. */
export interface Before {
  readonly events: number;
  readonly packed: Packed;
}

export interface Piece {
  /** As it stands in the file. */
  readonly bytes: Uint8Array;
  readonly packed: Packed;
  readonly events: number;
  /** Of the log: the first index behind the piece. */
  readonly next: number;
  /** Left out, since they differ from what was hashed. */
  readonly altered: readonly AlteredEvent[];
  /** The first event whose content was removed since the snapshot was taken. */
  readonly purged: number | undefined;
}

export interface AlteredEvent {
  readonly eventId: EventId;
  readonly index: number;
  readonly fault: string;
}

export interface Shaping {
  /** The next piece. */
  shape(plan: ShapingPlan, source: Source, before: Before): Promise<Piece>;
}

/** Of one piece. */
const EVENTS_MAX = 2000;
const TEXT_BYTES_MAX = 4 * 1024 * 1024;
/** An export waits for a checkpoint over all of it; what has cosigned that meanwhile depends on the moment. */
const ALL_CHECKPOINTED = { endIndex: Number.MAX_SAFE_INTEGER, witnessedEndIndex: 0 };

export class Shaper {
  readonly #log: Pick<LogReader, 'forTenant'>;

  constructor(log: Pick<LogReader, 'forTenant'>) {
    this.#log = log;
  }

  async shape(plan: ShapingPlan, source: Source, before: Before): Promise<Piece> {
    const { tenant, endIndex, format: name, isPacked } = plan;
    const stored =
      source.of === 'Found'
        ? source.events
        : await this.#log
            .forTenant(tenant)
            .events(source.from, endIndex, EVENTS_MAX, { bytesMax: TEXT_BYTES_MAX });
    const format = FORMATS[name];
    const altered: AlteredEvent[] = [];
    let [text, count] = ['', before.events];
    let purged: number | undefined;
    const see = seeing(plan);
    for (const each of stored) {
      const { content } = each;
      if (content !== undefined && 'purgedAtMs' in content && content.noticeIndex >= endIndex)
        purged ??= each.index;
      const seen = see(each);
      if (seen === undefined) continue;
      if ('fault' in seen) {
        altered.push({ eventId: seen.eventId, index: each.index, fault: seen.fault });
        continue;
      }
      text += (count === 0 ? '' : format.between) + format.write(seen);
      count += 1;
    }
    const raw = Buffer.from(text);
    return {
      bytes: isPacked ? await deflated(raw) : raw,
      packed: packedWith(before.packed, raw),
      events: count - before.events,
      next: (stored.at(-1)?.index ?? endIndex - 1) + 1,
      altered,
      purged,
    };
  }
}

/** The event as its reader sees it; undefined where it does not belong to the export, or is not there for the reader. */
function seeing({ tenant, sight: index, keepers, logStarts, kinds, conditions }: ShapingPlan) {
  const sight = { index, judge: (event: Parameters<typeof judgeBy>[1]) => judgeBy(index, event) };
  const judges = { sight, holds: judgeOf(keepers) };
  const logs: readonly Published[] = logStarts.map((firstIndex) => ({ firstIndex, ...ALL_CHECKPOINTED }));
  const asked = conditions && conditionsOf({ conditions, ruleId: 'criteria' });
  const rules = asked && new RuleSet([asked]);
  return (stored: StoredEvent) => {
    const log = logs.find(({ firstIndex }) => firstIndex <= stored.index)!;
    const shown = showEvent(tenant, stored, judges, log);
    if ('fault' in shown) return { eventId: placeOf(stored, log).eventId, fault: shown.fault };
    if (!('event' in shown) || !kinds.includes(shown.event.kind)) return undefined;
    if (rules === undefined) return shown.event;
    // What is withheld matches nothing.
    const isMatched = areSeen(asked!, shown.hidden) && rules.matching(factsShown(shown.event)).length > 0;
    return isMatched ? shown.event : undefined;
  };
}
