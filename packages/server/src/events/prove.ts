// The proof that one event is in the log, with as much of the event as this reader may see. Withheld values
// are shown by their commitments alone, so that the proof still holds. No proof is given of an event that was changed in
// the store.

import { type Answer, AuditError, ERRORS, type InputOf } from '@tallystick/contract';
import {
  closeUnits,
  decodeEntry,
  formatEventProof,
  formatEventProofText,
  isNotice,
  openTexts,
  parseJson,
  type ShownEvent,
} from '@tallystick/evidence';
import type { Call } from '../call.ts';
import type { EventFacts } from '../policies/event-facts.ts';
import { placesAt } from '../policies/withheld-fields.ts';
import { isGuarded, sightOf, type Visibility } from '../policies/sight.ts';
import { proofOf, type ProvableEvent, type ProvableParts } from '../streams/checkpoints/provable.ts';
import type { AlteredEvent, StoredEvidence } from '../streams/tree.ts';
import { reportAltered } from './altered.ts';
import { storedFacts } from './facts.ts';
import { noteSecretsRead, type ReadNoticeParts } from './secret-read.ts';
import { CONTENT_GONE, readFacts } from './show.ts';

export type ProveParts = ProvableParts & ReadNoticeParts;

export function createProve(parts: ProveParts) {
  return async (call: Call, { eventId }: InputOf<'events.prove'>): Promise<Answer<'events.prove'>> => {
    const { tenant, tenantRecord } = call;
    const isKnown = tenant !== undefined && tenantRecord !== undefined;
    const sight = sightOf(call);
    const found = isKnown && (await proofOf(call, { eventId, visible: sight.index.visible }, parts));
    if (!found) throw notFound();
    const proven = judged(found);
    if ('fault' in proven) throw reportAltered(call, [{ eventId, ...proven }], parts.telemetry);
    const { evidence, under, facts } = proven;
    const { classification, entry } = evidence;
    const kind = isNotice(decodeEntry(entry).kind) ? 'Notice' : 'Event';
    const visibility = sight.judge({ kind, classification, facts: () => facts });
    // As in events.get: a reader who is not cleared for a purged event cannot tell it from a missing one.
    if (visibility.extent === 'Invisible' || (facts === undefined && visibility.extent !== 'Whole'))
      throw notFound();
    const shown = shownTo(visibility, evidence, facts);
    const proof = { entry, shown, hashes: under.hashes, checkpoint: under.checkpoint.note };
    if (facts !== undefined) await noteSecretsRead(call, [{ eventId, classification }], parts);
    const text = formatEventProof(proof);
    return {
      kind: 'Done',
      body: parseJson(text) as Answer<'events.prove'>['body'],
      isGuarded: isGuarded({ classification }),
      alsoAs: { 'text/plain': () => formatEventProofText(proof) },
    };
  };
}

function judged(
  found: ProvableEvent | AlteredEvent,
): (ProvableEvent & { readonly facts: EventFacts | undefined }) | AlteredEvent {
  if ('fault' in found) return found;
  const { index, classification, content } = found.evidence;
  if (content === undefined) return { index, fault: CONTENT_GONE };
  if ('purgedAtMs' in content) return { ...found, facts: undefined };
  const read = readFacts(content.texts, classification);
  if ('fault' in read) return { index, fault: read.fault };
  return { ...found, facts: storedFacts(read, content.texts[1]) };
}

function notFound(): AuditError {
  return new AuditError('EVENT_NOT_FOUND', ERRORS.EVENT_NOT_FOUND.meaning);
}

/**
 * A reader below the event's classification gets context and payload as their root, and of a withheld field the commitment; of
 * removed content the roots are left. Commitments stand beside hashes of their paths, so where a whole context or payload is
 * withheld, its keys included, both are shown as their root.
 */
export function shownTo(
  { extent, withheldFields }: Visibility,
  { roots, content }: StoredEvidence,
  event: EventFacts | undefined,
): ShownEvent {
  if (content === undefined || 'purgedAtMs' in content) return [{ root: roots[0] }, { root: roots[1] }];
  const withheld = event === undefined ? [] : foundIn(event, withheldFields);
  const isContentShown = extent === 'Whole' && withheld.every(({ steps }) => steps.length > 1);
  const [facts, rest] = openTexts(content.texts, content.salts, content.deleted);
  const shown: ShownEvent = [facts, isContentShown ? rest : { root: roots[1] }];
  return withheld.length === 0 ? shown : closeUnits(shown, (path) => holdsWithheld(withheld, path));
}

/** Those that are there. A rule that withholds nothing must leave no trace: it may be about what another rule withholds. */
function foundIn(facts: EventFacts, fields: Visibility['withheldFields']): Visibility['withheldFields'] {
  return fields.filter(({ steps }) => {
    const { actor, resource } = facts;
    const isOfContent = steps[0] === 'context' || steps[0] === 'payload';
    let isThere = false;
    placesAt(isOfContent ? facts.content() : { actor, resource }, steps, [], () => (isThere = true));
    return isThere;
  });
}

/** Whether a unit holds a withheld field. Its path is a JSON pointer. */
function holdsWithheld(withheld: Visibility['withheldFields'], path: string): boolean {
  const [, root, member] = path.split('/').map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  return withheld.some(
    ({ steps: [first, second] }) =>
      first === root && (second === undefined || member === undefined || second === member),
  );
}
