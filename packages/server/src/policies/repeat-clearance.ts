// How far a caller learns of the repeats of others (repeats.ts). Where Access rules concern the caller, it learns of the repeats of
// what it sees as a whole: otherwise it could guess what a rule withholds, and see which guess is a repeat. The sent event is
// judged in place of the stored one, since a right guess is equal to it. Only the classification may differ.

import { CLASSIFICATIONS } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { Call } from '../call.ts';
import { storedFacts } from '../events/facts.ts';
import type { EventFields } from '../events/show.ts';
import type { RepeatClearance } from '../repeats.ts';
import type { Clock } from '../runtime/clock.ts';
import { pausesBy } from '../runtime/pause.ts';
import type { Draft } from '../streams/log.ts';
import { isDecidedByRules, type Sight, sightOf } from './sight.ts';

/** Of a request with these events. */
export async function repeatClearanceOf(
  call: Call,
  drafts: readonly Draft[],
  clock: Pick<Clock, 'monotonicNs'>,
): Promise<RepeatClearance> {
  const isRecognizable =
    call.once !== undefined || drafts.some((draft) => draft.sentFingerprint !== undefined);
  // Events are only read where that may matter.
  if (!isRecognizable || !isDecidedByRules(call)) return call.caller!.clearance;
  const sight = sightOf(call);
  const pause = pausesBy(clock);
  let rank: number = CLASSIFICATIONS.length;
  for (const draft of drafts) {
    rank = Math.min(rank, wholeUpTo(draft, sight));
    await pause();
  }
  return rank === 0 ? 'None' : CLASSIFICATIONS[rank - 1]!;
}

/** Of a request of which only its key is known. */
export function requestClearanceOf(call: Call): RepeatClearance {
  return isDecidedByRules(call) && call.operation.startsWith('events.') ? 'None' : call.caller!.clearance;
}

/** In how many classifications, from the lowest on, the caller would see it whole. */
function wholeUpTo({ texts: [facts, content] }: Draft, sight: Sight): number {
  const read = storedFacts(parseJson(textOf(facts)) as EventFields, textOf(content));
  const place = CLASSIFICATIONS.findIndex((classification) => {
    const judged = { ...read, classification };
    const { extent, withheldFields } = sight.judge({ kind: 'Event', classification, facts: () => judged });
    return extent !== 'Whole' || withheldFields.length > 0;
  });
  return place === -1 ? CLASSIFICATIONS.length : place;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}
