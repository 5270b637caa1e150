// One event by its id, read from the log itself, so that it is there from the moment of its receipt. What is absent,
// another tenant's or not for this reader is the same to whoever asks. One that is not what was accepted, or whose content
// is gone, is not shown. That a secret was read is itself in the log, and durable there before the answer.

import { type Answer, AuditError, ERRORS, type InputOf } from '@tallystick/contract';
import type { Call } from '../call.ts';
import type { LogReader } from '../streams/log.ts';
import { reportAltered } from './altered.ts';
import { visibleTo } from './redact.ts';
import { noteSecretRead, type ReadNoticeParts } from './secret-read.ts';
import { type Published, showEvent } from './show.ts';

export interface GetParts extends ReadNoticeParts {
  readonly log: LogReader;
  /** How far the log is signed that holds this index of the tenant's sequence; without one, that which is written to. */
  readonly publishedOf: (call: Call, index?: number) => Promise<Published>;
}

type GetAnswer = Answer<'events.get'>;

export function createGet(parts: GetParts) {
  return async (call: Call, { eventId }: InputOf<'events.get'>): Promise<GetAnswer> => {
    const { tenant, tenantRecord, caller } = call;
    // A tenant that nobody knows has no log.
    const isKnown = tenant !== undefined && tenantRecord !== undefined && caller !== undefined;
    if (!isKnown) throw notFound();
    // Asked at the same time: nearly all events are in the log that is written to.
    const [stored, current] = await Promise.all([
      parts.log.forTenant(tenant).event(eventId, visibleTo(caller.clearance)),
      parts.publishedOf(call),
    ]);
    if (stored === undefined) throw notFound();
    const isCurrent = stored.index >= current.firstIndex;
    const published = isCurrent ? current : await parts.publishedOf(call, stored.index);
    const shown = showEvent(tenant, stored, caller.clearance, published);
    if ('fault' in shown) {
      throw reportAltered(call, [{ eventId, index: stored.index, fault: shown.fault }], parts.telemetry);
    }
    if (!('event' in shown)) throw notFound();
    if (shown.event.classification === 'Secret') await noteSecretRead(call, [eventId], parts);
    return { kind: 'Done', body: shown.event };
  };
}

function notFound(): AuditError {
  return new AuditError('EVENT_NOT_FOUND', ERRORS.EVENT_NOT_FOUND.meaning);
}
