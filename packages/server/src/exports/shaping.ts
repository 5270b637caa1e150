// Makes pieces of the file of an export: reads events, judges what their reader sees of them, writes them in the format, and packs
// that. It runs in a thread of its own, with a connection of its own, so that an export makes nobody wait. A port: each backend
// brings the log.

import type { AuditEvent, Conditions, EventId, ExportFormat, TenantId } from '@tallystick/contract';
import { type ContentPath, ResumableSha256, type Sha256State } from '@tallystick/evidence';
import { placeOf, type Published, showEvent } from '../events/show.ts';
import { factsShown } from '../events/facts-shown.ts';
import { judgeOf, type Keeper } from '../holds/hold-judge.ts';
import { conditionsOf } from '../policies/condition.ts';
import { RuleSet } from '../policies/rule-set.ts';
import { areSeen } from '../policies/seen-conditions.ts';
import { type IndexSight, judgeBy } from '../policies/sight.ts';
import type { LogReader, StoredEvent } from '../streams/log.ts';
import { EvidenceLines, type EvidencePlan, type EvidenceTrees } from './evidence-lines.ts';
import { formatOf } from './formats/format.ts';
import { deflated, NOTHING_PACKED, type Packed, packedWith } from './packing/deflate.ts';

/** Data alone, since it goes to the thread. */
export interface ShapingPlan {
  readonly tenant: TenantId;
  readonly format: ExportFormat;
  readonly contentColumns: readonly ContentPath[];
  readonly isPacked: boolean;
  /** The lines of their bundle are made, and not the events as the format has them. */
  readonly evidence: EvidencePlan | undefined;
  readonly sight: IndexSight;
  readonly keepers: readonly Keeper[];
  /** The first index of each log of the tenant, the newest first. */
  readonly logStarts: readonly number[];
  /** What stands before it does not belong to the export. */
  readonly fromIndex: number;
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
  /** Of the text; undefined: nobody asks for it. */
  readonly hash: Sha256State | undefined;
  /** Events that were passed and are not shown, by their reason. */
  readonly withheld: Withheld;
}

export interface Withheld {
  readonly clearance: number;
  readonly purged: number;
}

export interface Piece extends Pick<Before, 'packed' | 'hash'> {
  /** As it stands in the file. */
  readonly bytes: Uint8Array;
  /** In this piece. */
  readonly events: number;
  readonly withheld: Withheld;
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

const NONE_WITHHELD: Withheld = { clearance: 0, purged: 0 };

/** At the beginning of a text. */
export function nothingBefore(isHashed: boolean): Before {
  const hash = isHashed ? new ResumableSha256().state : undefined;
  return { events: 0, packed: NOTHING_PACKED, hash, withheld: NONE_WITHHELD };
}

/** What is known behind a piece. */
export function behind(
  before: Before,
  piece: Pick<Piece, 'events' | 'packed' | 'hash' | 'withheld'>,
): Before {
  const { events, withheld, packed, hash } = piece;
  return {
    events: before.events + events,
    packed,
    hash,
    withheld: {
      clearance: before.withheld.clearance + withheld.clearance,
      purged: before.withheld.purged + withheld.purged,
    },
  };
}

/** A text that has no events. */
export function added(before: Before, raw: Uint8Array): Omit<Piece, 'bytes'> {
  const hash = before.hash && new ResumableSha256(before.hash).update(raw).state;
  const packed = packedWith(before.packed, raw);
  return { packed, hash, events: 0, withheld: NONE_WITHHELD, next: 0, altered: [], purged: undefined };
}

export class Shaper {
  readonly #log: Pick<LogReader, 'forTenant'>;
  readonly #evidence: EvidenceLines;

  constructor(log: Pick<LogReader, 'forTenant'>, trees: EvidenceTrees) {
    this.#log = log;
    this.#evidence = new EvidenceLines(trees);
  }

  async shape(plan: ShapingPlan, source: Source, before: Before): Promise<Piece> {
    const { tenant, endIndex, isPacked } = plan;
    const stored =
      source.of === 'Found'
        ? source.events
        : await this.#log
            .forTenant(tenant)
            .events(source.from, endIndex, EVENTS_MAX, { bytesMax: TEXT_BYTES_MAX });
    const judged = judgedBy(plan, stored);
    const { text, events, ...found } =
      plan.evidence === undefined
        ? { ...rowsOf(judged, plan, before), altered: [], purged: undefined }
        : await this.#evidence.linesOf(
            plan.evidence,
            plan,
            plan.evidence.isComplete ? stored : judged.shown.map(({ stored: each }) => each),
          );
    const raw = Buffer.from(text);
    return {
      ...added(before, raw),
      bytes: isPacked ? await deflated(raw) : raw,
      events,
      withheld: judged.withheld,
      next: (stored.at(-1)?.index ?? endIndex - 1) + 1,
      altered: [...judged.altered, ...found.altered],
      purged: judged.purged ?? found.purged,
    };
  }
}

interface Judged extends Pick<Piece, 'withheld' | 'altered' | 'purged'> {
  readonly shown: readonly { readonly stored: StoredEvent; readonly event: AuditEvent }[];
}

function judgedBy(plan: ShapingPlan, stored: readonly StoredEvent[]): Judged {
  const shown: { stored: StoredEvent; event: AuditEvent }[] = [];
  const altered: AlteredEvent[] = [];
  let purged: number | undefined;
  const withheld = { clearance: 0, purged: 0 };
  const see = seeing(plan);
  for (const each of stored) {
    const { content } = each;
    if (content !== undefined && 'purgedAtMs' in content && content.noticeIndex >= plan.endIndex)
      purged ??= each.index;
    const seen = see(each);
    if ('fault' in seen) altered.push({ eventId: seen.eventId, index: each.index, fault: seen.fault });
    else if ('event' in seen) shown.push({ stored: each, event: seen.event });
    else if (seen.withheld !== undefined) withheld[seen.withheld]++;
  }
  return { shown, altered, purged, withheld };
}

function rowsOf({ shown }: Judged, { format: name, contentColumns }: ShapingPlan, before: Before) {
  const format = formatOf(name, contentColumns);
  let [text, count] = ['', before.events];
  for (const { event } of shown) {
    text += (count === 0 ? '' : format.between) + format.write(event);
    count += 1;
  }
  return { text, events: shown.length };
}

type Seen =
  | { readonly event: AuditEvent }
  | { readonly eventId: EventId; readonly fault: string }
  /** Why it is not in the export; undefined: it does not belong to it. */
  | { readonly withheld: keyof Withheld | undefined };

/** The event as its reader sees it. */
function seeing({ tenant, sight: index, keepers, logStarts, kinds, conditions }: ShapingPlan) {
  const sight = { index, judge: (event: Parameters<typeof judgeBy>[1]) => judgeBy(index, event) };
  const judges = { sight, holds: judgeOf(keepers) };
  const logs: readonly Published[] = logStarts.map((firstIndex) => ({ firstIndex, ...ALL_CHECKPOINTED }));
  const asked = conditions && conditionsOf({ conditions, ruleId: 'criteria' });
  const rules = asked && new RuleSet([asked]);
  return (stored: StoredEvent): Seen => {
    const log = logs.find(({ firstIndex }) => firstIndex <= stored.index)!;
    const shown = showEvent(tenant, stored, judges, log);
    if ('fault' in shown) return { eventId: placeOf(stored, log).eventId, fault: shown.fault };
    if (!('event' in shown)) return { withheld: shown.withheld === 'Purged' ? 'purged' : 'clearance' };
    if (!kinds.includes(shown.event.kind)) return { withheld: undefined };
    if (rules === undefined) return { event: shown.event };
    // What is withheld matches nothing.
    const isMatched = areSeen(asked!, shown.hidden) && rules.matching(factsShown(shown.event)).length > 0;
    return isMatched ? { event: shown.event } : { withheld: undefined };
  };
}
