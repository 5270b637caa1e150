// The results of a pool of append requests as one message, the response to append-message. Event ids are not sent back:
// the sender has them.

import { AuditError, type ErrorCode } from '@tallystick/contract';
import type { AppendOutcome, AppendRequest, DraftOutcome } from '../../streams/log.ts';
import { ByteReader, ByteWriter } from './byte-message.ts';
import { CLASSIFICATIONS, classificationAt } from '../rows/classification-column.ts';
import { decodeOutcomes, encodeOutcomes, OUTCOME_STATUSES } from './outcomes.ts';

const STATUSES = ['Done', 'Repeated', 'KeyReused', 'Stale', 'NameTaken', 'HoldsChanged', 'Faulty'] as const;

export function encodeResults(results: readonly AppendOutcome[], room: ArrayBuffer): ArrayBuffer {
  const out = new ByteWriter(0, room);
  for (const result of results) {
    out.u8(STATUSES.indexOf(result.status));
    if (result.status === 'Done') writeDone(out, result.outcomes);
    else if (result.status === 'Faulty') writeFault(out, result.error);
    else if (result.status === 'Stale') {
      out.text(result.id);
      out.f64(result.version);
    } else if (result.status === 'NameTaken') out.text(result.uniqueName);
    else if (result.status === 'Repeated') {
      const { fingerprint, classification, expiresAtMs, note, outcomes } = result.used;
      out.bytes(fingerprint);
      out.u8(CLASSIFICATIONS.indexOf(classification));
      out.f64(expiresAtMs);
      out.text(note);
      out.bytes(encodeOutcomes(outcomes));
    }
  }
  return out.buffer;
}

export function decodeResults(buffer: ArrayBuffer, requests: readonly AppendRequest[]): AppendOutcome[] {
  const message = new ByteReader(buffer);
  return requests.map((request) => readResult(message, request));
}

function readResult(message: ByteReader, request: AppendRequest): AppendOutcome {
  const status = STATUSES[message.u8()];
  if (status === undefined) throw new Error('a result has an unknown status');
  switch (status) {
    case 'Done':
      return { status, outcomes: request.drafts.map(({ eventId }) => readOutcome(message, eventId)) };
    case 'Repeated':
      return {
        status,
        used: {
          fingerprint: message.bytes().slice(),
          classification: classificationAt(message.u8()),
          expiresAtMs: message.f64(),
          note: message.text(),
          outcomes: decodeOutcomes(message.bytes()),
        },
      };
    case 'KeyReused':
    case 'HoldsChanged':
      return { status };
    case 'Stale':
      return { status, id: message.text(), version: message.f64() };
    case 'NameTaken':
      return { status, uniqueName: message.text() };
    case 'Faulty':
      return { status, error: readFault(message) };
  }
}

/** The code of an AuditError, empty for any other error; the cause is for diagnostics, and may be empty. */
function writeFault(out: ByteWriter, error: Error): void {
  out.text(error instanceof AuditError ? error.code : '');
  out.text(error.message);
  out.text(error.cause instanceof Error ? error.cause.message : '');
}

function readFault(message: ByteReader): Error {
  const [code, why, cause] = [message.text(), message.text(), message.text()];
  const because = cause === '' ? {} : { cause: new Error(cause) };
  return code === '' ? new Error(why, because) : new AuditError(code as ErrorCode, why, because);
}

function writeDone(out: ByteWriter, outcomes: readonly DraftOutcome[]): void {
  for (const outcome of outcomes) {
    out.u8(OUTCOME_STATUSES.indexOf(outcome.status));
    if (!('index' in outcome)) continue;
    out.f64(outcome.index);
    out.f64(outcome.receivedAtMs);
  }
}

function readOutcome(message: ByteReader, eventId: string): DraftOutcome {
  const status = OUTCOME_STATUSES[message.u8()];
  if (status === undefined) throw new Error('an outcome has an unknown status');
  if (status === 'Conflict' || status === 'NotAppended') return { status, eventId };
  return { status, eventId, index: message.f64(), receivedAtMs: message.f64() };
}
