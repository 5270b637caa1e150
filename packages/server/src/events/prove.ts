// The proof that one event is in the log, with as much of the event as this reader may see. What is withheld is shown
// by its commitment alone, so that the proof holds all the same. What was changed in the store proves nothing, and does
// not go out as if it did.

import { type Answer, AuditError, ERRORS, type InputOf } from '@tallystick/contract';
import {
  decodeEntry,
  formatEventProof,
  formatEventProofText,
  isNotice,
  openTexts,
  parseJson,
  type ShownEvent,
} from '@tallystick/evidence';
import type { Call } from '../call.ts';
import { proofOf, type ProvableEvent, type ProvableParts } from '../streams/provable.ts';
import type { AlteredEvent, StoredEvidence } from '../streams/tree.ts';
import { reportAltered } from './altered.ts';
import { type View, viewFor, visibleTo } from './redact.ts';
import { noteSecretRead, type ReadNoticeParts } from './secret-read.ts';
import { CONTENT_GONE, readFacts } from './show.ts';

export type ProveParts = ProvableParts & ReadNoticeParts;

export function createProve(parts: ProveParts) {
  return async (call: Call, { eventId }: InputOf<'events.prove'>): Promise<Answer<'events.prove'>> => {
    const { tenant, tenantRecord, caller } = call;
    const isKnown = tenant !== undefined && tenantRecord !== undefined && caller !== undefined;
    const found = isKnown && (await proofOf(call, { eventId, visible: visibleTo(caller.clearance) }, parts));
    if (!found) throw notFound();
    const proven = judged(found);
    if ('fault' in proven) throw reportAltered(call, [{ eventId, ...proven }], parts.telemetry);
    const { evidence, under } = proven;
    const { classification, entry } = evidence;
    const view = isNotice(decodeEntry(entry).kind) ? 'Whole' : viewFor(caller.clearance, classification);
    const isPurged = evidence.content !== undefined && 'purgedAtMs' in evidence.content;
    // As events.get has it: who is not cleared for it cannot tell it from one that is not there.
    if (view === 'Invisible' || (isPurged && view !== 'Whole')) throw notFound();
    const shown = shownTo(view, evidence);
    const proof = { entry, shown, hashes: under.hashes, checkpoint: under.checkpoint.note };
    if (classification === 'Secret' && !isPurged) await noteSecretRead(call, [eventId], parts);
    const text = formatEventProof(proof);
    return {
      kind: 'Done',
      body: parseJson(text) as Answer<'events.prove'>['body'],
      alsoAs: { 'text/plain': () => formatEventProofText(proof) },
    };
  };
}

function judged(found: ProvableEvent | AlteredEvent): ProvableEvent | AlteredEvent {
  if ('fault' in found) return found;
  const { index, classification, content } = found.evidence;
  if (content !== undefined && 'purgedAtMs' in content) return found;
  const read = content === undefined ? { fault: CONTENT_GONE } : readFacts(content.texts, classification);
  return 'fault' in read ? { index, fault: read.fault } : found;
}

function notFound(): AuditError {
  return new AuditError('EVENT_NOT_FOUND', ERRORS.EVENT_NOT_FOUND.meaning);
}

/** A reader below the event's classification gets context and payload as their root; of what is removed roots are left. */
export function shownTo(view: View, { roots, content }: StoredEvidence): ShownEvent {
  if (content === undefined || 'purgedAtMs' in content) return [{ root: roots[0] }, { root: roots[1] }];
  const [facts, rest] = openTexts(content.texts, content.salts);
  return [facts, view === 'Whole' ? rest : { root: roots[1] }];
}
