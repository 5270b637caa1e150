// The proof that one event is in the log, with as much of the event as this reader may see. What is withheld is shown
// by its commitment alone, so that the proof holds all the same.

import { type Answer, AuditError, ERRORS, type InputOf } from '@tallystick/contract';
import {
  contentOf,
  decodeEntry,
  equalBytes,
  type EventProof,
  formatEventProof,
  formatEventProofText,
  openTexts,
  parseJson,
  type ShownEvent,
} from '@tallystick/evidence';
import type { Call } from '../call.ts';
import { covering, type ProvableParts } from '../streams/provable.ts';
import type { StoredEvidence } from '../streams/tree.ts';
import { type ReadNoticeParts, noteSecretRead } from './secret-read.ts';
import { type View, viewFor, visibleTo } from './redact.ts';

export type ProveParts = ProvableParts & ReadNoticeParts;

export function createProve(parts: ProveParts) {
  return async (call: Call, { eventId }: InputOf<'events.prove'>): Promise<Answer<'events.prove'>> => {
    const { tenant, tenantRecord, caller } = call;
    const isKnown = tenant !== undefined && tenantRecord !== undefined && caller !== undefined;
    const stored = isKnown && (await parts.trees.evidence(tenant, eventId, visibleTo(caller.clearance)));
    if (!stored) throw new AuditError('EVENT_NOT_FOUND', ERRORS.EVENT_NOT_FOUND.meaning);
    const view = viewFor(caller.clearance, stored.classification);
    const proof = await prove(call, stored, view, parts);
    if (stored.classification === 'Secret') await noteSecretRead(call, [eventId], parts);
    const text = formatEventProof(proof);
    return {
      kind: 'Done',
      body: parseJson(text) as Answer<'events.prove'>['body'],
      alsoAs: { 'text/plain': () => formatEventProofText(proof) },
    };
  };
}

async function prove(call: Call, stored: StoredEvidence, view: View, parts: ProveParts): Promise<EventProof> {
  const { index, eventId, content } = decodeEntry(stored.entry);
  const { tree, checkpoint } = await covering(call, stored.index, parts);
  const shown = shownTo(view, stored);
  // What was changed in the store proves nothing, and must not go out as if it did.
  if (!equalBytes(contentOf(shown), content)) {
    throw new Error(`the event ${eventId} of ${call.tenant} is not what was hashed`);
  }
  return {
    entry: stored.entry,
    shown,
    hashes: await tree.inclusion(index, checkpoint.size),
    checkpoint: checkpoint.note,
  };
}

/** A reader below the event's classification gets context and payload as their root; of what is removed roots are left. */
export function shownTo(view: View, { roots, content }: StoredEvidence): ShownEvent {
  if (content === undefined) return [{ root: roots[0] }, { root: roots[1] }];
  const [facts, rest] = openTexts(content.texts, content.salts);
  return [facts, view === 'Whole' ? rest : { root: roots[1] }];
}
