// A few events of the walk of an erasure: those of the person get a notice each, in one commit, and lose their fields once a checkpoint
// covers it. Those that have a notice of this erasure are counted as erased, whoever has committed it: a job that was killed behind
// that commit has told nobody.

import type { TenantId } from '@tallystick/contract';
import { decodeEntry, isNotice, parseJson } from '@tallystick/evidence';
import type { TenantRecord, Tenants } from '../access/tenants.ts';
import { readFacts } from '../events/show.ts';
import { type Clock, wait } from '../runtime/clock.ts';
import { Deadline } from '../runtime/deadline.ts';
import { pausesBy } from '../runtime/pause.ts';
import type { Sequencer } from '../streams/append/sequencer.ts';
import type { LogReader, StoredContent, StoredEvent } from '../streams/log.ts';
import { deleteNoted, type FinishParts, redactionJob } from './finish-redactions.ts';
import { unitsOfFields } from './named-units.ts';
import { isHeld, redactionNotice } from './redact.ts';
import { type SubjectHashes, subjectJudge } from './subject.ts';

export interface Erasing {
  readonly tenant: TenantId;
  readonly subject: SubjectHashes;
  readonly fields: Parameters<typeof unitsOfFields>[0];
  /** Of all notices of the erasure, and of no others behind its request. */
  readonly correlationId: string;
  readonly requestIndex: number;
  /** Of the current log: nothing can be said of the ones before it. */
  readonly firstIndex: number;
}

export interface PortionParts extends FinishParts {
  readonly log: LogReader;
  readonly tenants: Pick<Tenants, 'find'>;
  readonly sequencer: Pick<Sequencer, 'append'>;
  readonly clock: Clock;
  readonly nextId: () => string;
  readonly uuid: () => string;
}

export interface Portion {
  readonly matched: number;
  /** The indexes of those that have a notice of this erasure. */
  readonly erased: readonly number[];
  readonly held: number;
  readonly firstHeld: number | undefined;
  readonly isOlder: boolean;
}

type Present = StoredEvent & { readonly content: StoredContent };

interface Wanted {
  readonly event: Present;
  readonly tags: string[];
}

interface Noted {
  readonly index: number;
  readonly eventId: string;
  readonly noticeIndex: number;
}

const LOOK_AGAIN_MS = 50;
/** A tenant that changes its holds without end takes the turn of no other. */
const ATTEMPTS_MAX = 20;

export async function erasePortion(
  events: readonly StoredEvent[],
  erasing: Erasing,
  signal: AbortSignal,
  parts: PortionParts,
): Promise<Portion> {
  const { tenant, subject, fields, firstIndex } = erasing;
  const noted = await notedBefore(events, erasing, parts);
  await deleteUnder(noted, tenant, signal, parts);
  const done = new Set(noted.map(({ index }) => index));
  const isOfSubject = subjectJudge(subject);
  const pause = pausesBy(parts.clock);
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const tenantRecord = (await parts.tenants.find(tenant))!;
    const matching: Present[] = [];
    const held: Present[] = [];
    const wanted: Wanted[] = [];
    let isOlder = false;
    for (const event of events) {
      await pause();
      if (done.has(event.index) || !isMatching(event, isOfSubject)) continue;
      matching.push(event);
      if (event.index < firstIndex) isOlder = true;
      else if (isHeld(tenantRecord, event)) held.push(event);
      else {
        const tags = [...unitsOfFields(fields, event.content.texts)];
        if (tags.length > 0) wanted.push({ event, tags });
      }
    }
    if (await commit(wanted, tenantRecord, erasing, signal, parts))
      return {
        matched: matching.length + done.size,
        erased: [...done, ...wanted.map(({ event }) => event.index)],
        held: held.length,
        firstHeld: held[0]?.index,
        isOlder,
      };
    // Holds have changed since.
    await wait(parts.clock, LOOK_AGAIN_MS, signal);
  }
  throw new Error(`the holds of ${tenant} are being changed`);
}

function isMatching(event: StoredEvent, isOfSubject: ReturnType<typeof subjectJudge>): event is Present {
  const { content, classification, entry } = event;
  if (content === undefined || !('texts' in content) || isNotice(decodeEntry(entry).kind)) return false;
  const facts = readFacts(content.texts, classification);
  return !('fault' in facts) && isOfSubject(facts);
}

/** Of these events, those that a notice of this erasure names, each with the first of them. */
async function notedBefore(
  events: readonly StoredEvent[],
  { tenant, requestIndex, correlationId }: Erasing,
  { log }: Pick<PortionParts, 'log'>,
): Promise<readonly Noted[]> {
  const found: Noted[] = [];
  for (const { index, entry, content } of events) {
    const notices = content !== undefined && 'texts' in content ? (content.deletedUnder ?? []) : [];
    for (const noticeIndex of notices.filter((each) => each > requestIndex)) {
      const [notice] = await log.forTenant(tenant).events(noticeIndex, noticeIndex + 1, 1);
      if (notice?.content === undefined || !('texts' in notice.content)) continue;
      const facts = parseJson(notice.content.texts[0]) as { readonly correlationId: string };
      if (facts.correlationId !== correlationId) continue;
      found.push({ index, eventId: decodeEntry(entry).eventId, noticeIndex });
      break;
    }
  }
  return found;
}

/** False, and nothing is done, where holds have changed. */
async function commit(
  wanted: readonly Wanted[],
  { holdsAsOf }: TenantRecord,
  { tenant, correlationId }: Erasing,
  signal: AbortSignal,
  parts: PortionParts,
): Promise<boolean> {
  if (wanted.length === 0) return true;
  const named = wanted.map(({ event, tags }) => {
    const { index: leafIndex, eventId } = decodeEntry(event.entry);
    return { leafIndex, eventId, tags, cause: 'Erasure' as const };
  });
  const drafts = named.map((payload) => redactionNotice(payload, correlationId, parts));
  const noticeIds = drafts.map(({ eventId }) => eventId);
  const jobs = [redactionJob(parts.nextId(), noticeIds)];
  const result = await parts.sequencer.append({ tenant, drafts, atomic: true, jobs, holdsAsOf });
  if (result.status === 'HoldsChanged') return false;
  if (result.status !== 'Done') throw new Error(`an erasure was answered ${result.status}`);
  const noted = result.outcomes.flatMap((outcome, i) =>
    'index' in outcome
      ? [{ index: wanted[i]!.event.index, eventId: named[i]!.eventId, noticeIndex: outcome.index }]
      : [],
  );
  await deleteUnder(noted, tenant, signal, parts);
  return true;
}

/** A repeat changes nothing. */
async function deleteUnder(
  noted: readonly Noted[],
  tenant: TenantId,
  signal: AbortSignal,
  parts: PortionParts,
): Promise<void> {
  const noticeIndexes = noted.map(({ noticeIndex }) => noticeIndex);
  const eventIds = noted.map(({ eventId }) => eventId);
  const deadline = new Deadline();
  const stop = () => deadline.pass(new Error('the job is stopped'));
  signal.addEventListener('abort', stop, { once: true });
  await deleteNoted({ tenant, noticeIndexes, eventIds }, deadline, parts);
  signal.removeEventListener('abort', stop);
}
