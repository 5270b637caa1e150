// Streams and the log: reading them whole, sealing, verifying, and the files that outside tools read.

import { bytes, json, list, operation, restOnly } from '../operation.ts';
import { arrayOf, doc, optional, refusedAs } from '../schema.ts';
import { StreamEvent } from '../schemas/event.ts';
import { PAGING } from '../schemas/list.ts';
import { OperationId, Sequence, StreamId, TenantId } from '../schemas/primitives.ts';
import {
  Checkpoint,
  ConsistencyProof,
  EventStream,
  StreamStatus,
  StreamVerification,
  VerifyRange,
} from '../schemas/stream.ts';
import { Type } from '../type.ts';

const streamId = refusedAs('STREAM_NOT_FOUND', StreamId);
const tenantId = refusedAs('TENANT_NOT_FOUND', TenantId);
const asLogFiles = restOnly('A file of the log in C2SP form, read by tools that expect it at this path.');

// The path of a tile names its width, so what is behind it never changes; only its readers may keep it.
const kept = { 'Cache-Control': 'private, max-age=31536000, immutable' };

export const STREAM_OPERATIONS = [
  operation({
    name: 'streams.list',
    summary: 'List the streams of the log, newest first',
    effect: 'Read',
    permission: 'audit.events.read',
    input: { status: optional(arrayOf(StreamStatus, { minItems: 1, maxItems: 3 })), ...PAGING },
    output: list(EventStream),
    answers: { Done: 'A page of streams.' },
    rest: { method: 'GET', path: '/event-streams' },
  }),
  operation({
    name: 'streams.get',
    summary: 'Get a stream with its hash chain',
    effect: 'Read',
    permission: 'audit.events.read',
    input: { streamId },
    output: json(EventStream),
    answers: { Done: 'The stream.' },
    rest: { method: 'GET', path: '/event-streams/{streamId}' },
  }),
  operation({
    name: 'streams.listEvents',
    summary: 'Read the events of a stream in order, without a gap',
    effect: 'Read',
    permission: 'audit.events.read',
    input: {
      streamId,
      fromSequence: optional(doc(Sequence, 'Begin here.')),
      toSequence: optional(doc(Sequence, 'End here.')),
      ...PAGING,
    },
    output: list(StreamEvent),
    answers: { Done: 'A page of events by sequence; those this reader may not see as their bare place.' },
    rest: { method: 'GET', path: '/event-streams/{streamId}/events' },
  }),
  operation({
    name: 'streams.seal',
    summary: 'Seal the open stream and begin the next one',
    effect: 'Write',
    permission: 'audit.policies.write',
    input: { streamId },
    output: json(EventStream),
    answers: { Done: 'The stream is sealed.' },
    errors: ['STREAM_SEALED'],
    rest: { method: 'POST', path: '/event-streams/{streamId}/seal' },
  }),
  operation({
    name: 'streams.verify',
    summary: 'Recompute a stream from what is stored and say whether it holds',
    effect: 'Read',
    // It changes nothing, but is work that a repeat should not start twice.
    idempotency: 'Key',
    permission: 'audit.integrity.verify',
    input: { streamId, range: optional(VerifyRange) },
    output: json(StreamVerification),
    answers: {
      Accepted: 'The verification goes on.',
      Repeated: 'Recognised by its key: the first answer again.',
    },
    rest: {
      method: 'POST',
      path: '/event-streams/{streamId}/verify',
      body: 'range',
      answerHeaders: { Location: '/event-streams/{streamId}/verifications/{operationId}' },
    },
  }),
  operation({
    name: 'streams.getVerification',
    summary: 'See how far a verification has come, and its verdict when it is done',
    effect: 'Read',
    permission: 'audit.integrity.verify',
    input: { streamId, operationId: refusedAs('OPERATION_NOT_FOUND', OperationId) },
    output: json(StreamVerification),
    answers: { Done: 'The verification; a broken stream is a verdict too.' },
    rest: { method: 'GET', path: '/event-streams/{streamId}/verifications/{operationId}' },
  }),
  operation({
    name: 'checkpoints.latest',
    summary: 'Get the newest signed checkpoint of the log',
    effect: 'Read',
    permission: 'audit.integrity.verify',
    input: {},
    output: json(Checkpoint),
    answers: { Done: 'The checkpoint. Waits for the first one of a new log.' },
    rest: { method: 'GET', path: '/checkpoints/latest' },
  }),
  operation({
    name: 'checkpoints.proveConsistency',
    summary: 'Get the proof that the log only grew between two sizes',
    effect: 'Read',
    permission: 'audit.integrity.verify',
    input: {
      from: Type.Integer({ minimum: 1, description: 'The older size.' }),
      to: optional(
        Type.Integer({ minimum: 1, description: "The newer size; the newest checkpoint's, when absent." }),
      ),
    },
    output: json(ConsistencyProof),
    answers: { Done: 'The proof.' },
    rest: { method: 'GET', path: '/checkpoints/consistency' },
  }),
  operation({
    name: 'log.checkpoint',
    summary: 'Read the newest checkpoint as a signed note',
    effect: 'Read',
    permission: 'audit.integrity.verify',
    tenant: 'Addressed',
    input: { tenantId },
    output: bytes('text/plain; charset=utf-8'),
    answers: { Done: 'The signed note.' },
    rest: {
      method: 'GET',
      path: '/log/t/{tenantId}/checkpoint',
      answerHeaders: { 'Cache-Control': 'no-store' },
    },
    gaps: asLogFiles,
  }),
  operation({
    name: 'log.key',
    summary: 'Read the verifier key of the log',
    effect: 'Read',
    permission: 'audit.integrity.verify',
    tenant: 'Addressed',
    input: { tenantId },
    output: bytes('text/plain; charset=utf-8'),
    answers: { Done: 'The key, as a signed note verifier key.' },
    rest: { method: 'GET', path: '/log/t/{tenantId}/key' },
    gaps: asLogFiles,
  }),
  operation({
    name: 'log.tile',
    summary: 'Read a tile of the Merkle tree',
    effect: 'Read',
    permission: 'audit.integrity.verify',
    tenant: 'Addressed',
    input: {
      tenantId,
      level: refusedAs(
        'TILE_NOT_FOUND',
        Type.String({ pattern: '^([0-9]|[1-5][0-9]|6[0-3])$', 'x-expected': 'a whole number from 0 to 63' }),
      ),
      tile: refusedAs(
        'TILE_NOT_FOUND',
        Type.String({ description: '`x001/x234/067`, or `067.p/12` for a partial one.' }),
      ),
    },
    output: bytes('application/octet-stream'),
    answers: { Done: 'Up to 256 hashes.' },
    rest: {
      method: 'GET',
      path: '/log/t/{tenantId}/tile/{level}/{tile+}',
      answerHeaders: kept,
    },
    gaps: asLogFiles,
  }),
  operation({
    name: 'log.entries',
    summary: 'Read the entries under a tile',
    effect: 'Read',
    permission: 'audit.integrity.verify',
    tenant: 'Addressed',
    input: {
      tenantId,
      tile: refusedAs(
        'TILE_NOT_FOUND',
        Type.String({ description: '`x001/x234/067`, or `067.p/12` for a partial one.' }),
      ),
    },
    output: bytes('application/octet-stream'),
    answers: { Done: 'Up to 256 entries, each after its length; no personal data is in them.' },
    rest: {
      method: 'GET',
      path: '/log/t/{tenantId}/tile/entries/{tile+}',
      answerHeaders: kept,
    },
    gaps: asLogFiles,
  }),
] as const;
