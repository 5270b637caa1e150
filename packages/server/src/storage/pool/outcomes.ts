// The outcomes of a request's drafts, as stored with a used key: u8 status ‖ eventId[16], followed, for a draft that
// was appended, by f64 index ‖ f64 receivedAtMs, little-endian.

import { eventIdBytes, eventIdText } from '@tallystick/evidence';
import type { DraftOutcome } from '../../streams/log.ts';

export const OUTCOME_STATUSES = [
  'Appended',
  'Duplicate',
  'Conflict',
  'NotAppended',
] as const satisfies readonly DraftOutcome['status'][];

const ID_AT = 1;
const INDEX_AT = 17;
const RECEIVED_AT = 25;
const PLACED_BYTES = 33;

export function encodeOutcomes(outcomes: readonly DraftOutcome[]): Uint8Array {
  const bytes = new Uint8Array(outcomes.length * PLACED_BYTES);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const outcome of outcomes) {
    bytes[at] = OUTCOME_STATUSES.indexOf(outcome.status);
    bytes.set(eventIdBytes(outcome.eventId), at + ID_AT);
    if ('index' in outcome) {
      view.setFloat64(at + INDEX_AT, outcome.index, true);
      view.setFloat64(at + RECEIVED_AT, outcome.receivedAtMs, true);
    }
    at += 'index' in outcome ? PLACED_BYTES : INDEX_AT;
  }
  return bytes.subarray(0, at);
}

export function decodeOutcomes(bytes: Uint8Array): DraftOutcome[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const outcomes: DraftOutcome[] = [];
  for (let at = 0; at < bytes.length; ) {
    const status = OUTCOME_STATUSES[bytes[at]!];
    if (status === undefined) throw new Error(`an outcome has the unknown status ${bytes[at]}`);
    const eventId = eventIdText(bytes.subarray(at + ID_AT, at + INDEX_AT));
    if (status === 'Conflict' || status === 'NotAppended') {
      outcomes.push({ status, eventId });
      at += INDEX_AT;
      continue;
    }
    const index = view.getFloat64(at + INDEX_AT, true);
    outcomes.push({ status, eventId, index, receivedAtMs: view.getFloat64(at + RECEIVED_AT, true) });
    at += PLACED_BYTES;
  }
  return outcomes;
}
