// What may be removed: expired content by the policy that has decided, without what a legal hold covers. A hold judges the event as it is
// stored. An event that cannot be read stays while there are holds, since nobody knows whether one covers it; one that a notice
// names already is gone for every reader, so its removal is finished.

import { EvidenceError } from '@tallystick/evidence';
import type { TenantRecord } from '../access/tenants.ts';
import { storedFacts } from '../events/facts.ts';
import { readFacts } from '../events/show.ts';
import { type HoldJudge, holdsOn } from '../holds/hold-judge.ts';
import type { LogReader, StoredEvent } from '../streams/log.ts';
import {
  EXPIRY_SPAN,
  type ExpiredRun,
  type IndexSpan,
  type RemovalStore,
} from '../streams/removal/removal.ts';
import { type DecidingPolicy, decidingPolicy } from './deciding-policy.ts';

/** Spans in order, which one policy has decided about. */
export interface Removable {
  /** Undefined: the tenant's default. */
  readonly policy: DecidingPolicy | undefined;
  readonly spans: IndexSpan[];
}

export interface Gathered {
  readonly removable: readonly Removable[];
  /** Expired events that a hold keeps. */
  readonly heldEvents: number;
  /** All before it was looked at. */
  readonly nextIndex: number;
}

export interface RemovableParts {
  readonly removal: Pick<RemovalStore, 'expired'>;
  readonly log: LogReader;
  /** Others are neither removable nor held. Undefined: all are counted. */
  readonly isCounted?: ((event: StoredEvent) => boolean) | undefined;
  /** Leaves out what is not to be removed, whatever its row says. Undefined: rows are believed, for a preview. */
  readonly judge?: ((runs: readonly ExpiredRun[]) => Promise<readonly ExpiredRun[]>) | undefined;
}

/** As many as one commit of notices is for; a span of one log needs few bytes in a notice. */
const EVENTS_MAX = 100_000;
const SPANS_MAX = 1000;
const READ_AT_ONCE = 500;
const READ_BYTES = 4_000_000;

/** Gathers from the beginning of the span on, until there is enough for one removal or the span ends. */
export async function gatherRemovable(
  tenant: TenantRecord,
  { firstIndex, endIndex }: IndexSpan,
  untilMs: number,
  parts: RemovableParts,
  pause: () => Promise<void> | undefined,
): Promise<Gathered> {
  const { removal, isCounted, judge: judged = async (runs: readonly ExpiredRun[]) => runs } = parts;
  const judge = holdsOn(tenant);
  const byPolicy = new Map<string, Removable>();
  let [events, spans, heldEvents, from] = [0, 0, 0, firstIndex];
  while (from < endIndex && events < EVENTS_MAX && spans < SPANS_MAX) {
    const end = Math.min(endIndex, from + EXPIRY_SPAN);
    const unheld: ExpiredRun[] = [];
    for (const run of await removal.expired(tenant.tenantId, { firstIndex: from, endIndex: end }, untilMs)) {
      const isFree = judge.isEmpty && isCounted === undefined;
      const { free, held } = isFree
        ? { free: [run], held: 0 }
        : await freeOf(tenant, run, judge, parts, pause);
      heldEvents += held;
      for (const span of free) unheld.push({ ...run, ...span });
      await pause();
    }
    for (const run of await judged(unheld)) {
      events += run.endIndex - run.firstIndex;
      spans += Number(add(byPolicy, run));
    }
    from = end;
  }
  return { removable: [...byPolicy.values()], heldEvents, nextIndex: Math.min(from, endIndex) };
}

/** Whether it is a span of its own. */
function add(byPolicy: Map<string, Removable>, { decidedBy, firstIndex, endIndex }: ExpiredRun): boolean {
  const policy = decidingPolicy(decidedBy);
  const key = policy === undefined ? '' : `${policy.policyId} ${policy.policyVersion}`;
  let found = byPolicy.get(key);
  if (found === undefined) byPolicy.set(key, (found = { policy, spans: [] }));
  const last = found.spans.at(-1);
  if (last?.endIndex !== firstIndex) return found.spans.push({ firstIndex, endIndex }) > 0;
  found.spans[found.spans.length - 1] = { firstIndex: last.firstIndex, endIndex };
  return false;
}

async function freeOf(
  { tenantId }: TenantRecord,
  { firstIndex, endIndex }: IndexSpan,
  judge: HoldJudge,
  { log, isCounted }: RemovableParts,
  pause: () => Promise<void> | undefined,
): Promise<{ readonly free: readonly IndexSpan[]; readonly held: number }> {
  const free: IndexSpan[] = [];
  let held = 0;
  for (let from = firstIndex; from < endIndex; ) {
    const read = { bytesMax: READ_BYTES };
    const events = await log.forTenant(tenantId).events(from, endIndex, READ_AT_ONCE, read);
    if (events.length === 0) throw new Error(`the log of ${tenantId} has no entry ${from}`);
    for (const event of events) {
      // One event may be large, and the conditions of all holds are asked about it.
      await pause();
      if (isCounted?.(event) === false) continue;
      if (!judge.isEmpty && isKept(event, judge)) {
        held++;
        continue;
      }
      const last = free.at(-1);
      const begins = last?.endIndex === event.index ? free.pop()!.firstIndex : event.index;
      free.push({ firstIndex: begins, endIndex: event.index + 1 });
    }
    from = events.at(-1)!.index + 1;
  }
  return { free, held };
}

/** Whether a hold keeps it, or may keep it. */
export function isKept({ index, content, classification }: StoredEvent, judge: HoldJudge): boolean {
  if (content === undefined) return true;
  if ('purgedAtMs' in content) return false;
  if ('fault' in content) return true;
  const read = readFacts(content.texts, classification);
  // An index of the tenant's sequence, not of the entry's log.
  const sequence = index + 1;
  if ('fault' in read) return true;
  try {
    return judge.isHeld(sequence, storedFacts(read, content.texts[1]));
  } catch (error) {
    if (error instanceof EvidenceError) return true;
    throw error;
  }
}
