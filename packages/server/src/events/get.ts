// One event by its id, read from the log itself, so that it is there from the moment of its receipt. An event
// that is absent, another tenant's or not for this reader gets the same answer. A purged event leaves a tombstone, for readers
// who are cleared for it. An event that differs from what was accepted, or whose content is gone without a notice, is not
// shown. Each read of a secret event leaves a notice in the log, which is durable before the answer.

import {
  type Answer,
  AuditError,
  ERRORS,
  type EventId,
  type InputOf,
  type Tombstone,
} from '@tallystick/contract';
import type { Call } from '../call.ts';
import { isGuarded } from '../policies/sight.ts';
import type { LogReader, StoredEvent } from '../streams/log.ts';
import { reportAltered } from './altered.ts';
import { relatedTo, type RelatedParts } from './related.ts';
import { noteSecretsRead } from './secret-read.ts';
import { judgesOf, type Published, showEvent, type Shown } from './show.ts';

export interface GetParts extends RelatedParts {
  readonly log: LogReader;
  /** How far the log is signed that holds this index of the tenant's sequence; without an index, the log that is written to. */
  readonly publishedOf: (call: Call, index?: number) => Promise<Published>;
}

type GetAnswer = Answer<'events.get'>;

export function createGet(parts: GetParts) {
  return async (
    call: Call,
    { eventId, includeRelatedEntities = false }: InputOf<'events.get'>,
  ): Promise<GetAnswer> => {
    const { shown } = await readShown(call, eventId, parts);
    if ('tombstone' in shown) return { kind: 'Done', body: shown.tombstone };
    const { event } = shown;
    if (!includeRelatedEntities) {
      await noteSecretsRead(call, [event], parts);
      return { kind: 'Done', body: event, isGuarded: isGuarded(event) };
    }
    const related = await relatedTo(call, event, parts);
    await noteSecretsRead(call, [event, ...related.events], parts);
    const body = { ...event, relatedEntities: related.entities };
    return { kind: 'Done', body, isGuarded: [event, ...related.events].some(isGuarded) };
  };
}

export interface ReadEvent {
  readonly stored: StoredEvent;
  readonly shown: Extract<Shown, { event: unknown }> | { readonly tombstone: Tombstone };
}

/** One event as this reader gets it; throws EVENT_NOT_FOUND where there is none for this reader. */
export async function readShown(
  call: Call,
  eventId: EventId,
  parts: Pick<GetParts, 'log' | 'publishedOf' | 'telemetry'>,
): Promise<ReadEvent> {
  const { tenant, tenantRecord } = call;
  // An unknown tenant has no log.
  if (tenant === undefined || tenantRecord === undefined) throw notFound();
  const judges = judgesOf(call);
  // Asked at the same time: nearly all events are in the log that is written to.
  const [stored, current] = await Promise.all([
    parts.log.forTenant(tenant).event(eventId, judges.sight.index.visible),
    parts.publishedOf(call),
  ]);
  if (stored === undefined) throw notFound();
  const isCurrent = stored.index >= current.firstIndex;
  const published = isCurrent ? current : await parts.publishedOf(call, stored.index);
  const shown = showEvent(tenant, stored, judges, published);
  if ('fault' in shown)
    throw reportAltered(call, [{ eventId, index: stored.index, fault: shown.fault }], parts.telemetry);
  if ('event' in shown) return { stored, shown };
  const tombstone = 'tombstone' in shown ? shown.tombstone : undefined;
  if (tombstone === undefined) throw notFound();
  return { stored, shown: { tombstone } };
}

export function notFound(): AuditError {
  return new AuditError('EVENT_NOT_FOUND', ERRORS.EVENT_NOT_FOUND.meaning);
}
