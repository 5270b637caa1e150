// The details of an error as google.rpc has them, which programs know: ErrorInfo with our code and the ids of the request,
// BadRequest with each field that breaks a rule, RetryInfo with the time to wait; and all that REST would say, as our own
// message. They travel in trailers, which clients bound to 8 KB, so there is an end to the lists.

import type { ErrorInfo, Version } from '@tallystick/contract';
import { grpcPackage } from '@tallystick/contract/grpc';
import { encodeMessage } from '../protobuf/encode.ts';
import { interfaceOf } from '../protobuf/wire-form.ts';
import type { GrpcStatus } from './error-status.ts';
import { BYTES, VARINT, WireWriter } from '../protobuf/writer.ts';

/** The name of a message of google.rpc, and its bytes. */
export interface StatusDetail {
  readonly type: string;
  readonly value: Uint8Array;
}

const DOMAIN = 'tallystick';
const VIOLATIONS_BYTES_MAX = 1500;
const OWN_BYTES_MAX = 3000;
const MESSAGE_LENGTH_MAX = 1000;

export interface ShownStatus {
  readonly status: GrpcStatus;
  readonly message: string;
  readonly details: readonly StatusDetail[];
}

export interface StatusFacts {
  readonly status: GrpcStatus;
  readonly version: Version;
  readonly correlationId: string;
  readonly retryAfterSeconds: number | undefined;
}

export function shownStatus(shown: ErrorInfo, facts: StatusFacts): ShownStatus {
  const { status, correlationId, retryAfterSeconds, version } = facts;
  const { details, traceId, requestId } = shown;
  const message =
    shown.message.length > MESSAGE_LENGTH_MAX
      ? `${shown.message.slice(0, MESSAGE_LENGTH_MAX - 1)}…`
      : shown.message;
  const { value, listed } = badRequest(details);
  const ids = { traceId, requestId, correlationId };
  return {
    status,
    message,
    details: [
      { type: 'google.rpc.ErrorInfo', value: errorInfo(shown.code, ids) },
      { type: `${grpcPackage(version)}.ErrorInfo`, value: ownInfo({ ...shown, message }, version) },
      ...(listed > 0 ? [{ type: 'google.rpc.BadRequest', value }] : []),
      ...(retryAfterSeconds === undefined ? [] : [retryInfo(retryAfterSeconds)]),
    ],
  };
}

/** With as many of its details as there is room for. */
function ownInfo(shown: ErrorInfo, version: Version): Uint8Array {
  const plan = interfaceOf(version).plans.messages.get('ErrorInfo');
  if (plan === undefined) throw new Error('the interface has no ErrorInfo');
  let bytes = encodeMessage(plan, { ...shown, details: [] });
  for (const detail of shown.details) {
    const longer = Buffer.concat([bytes, encodeMessage(plan, { details: [detail] })]);
    if (longer.length > OWN_BYTES_MAX) break;
    bytes = longer;
  }
  return bytes;
}

function errorInfo(code: string, facts: Readonly<Record<string, string>>): Uint8Array {
  const writer = new WireWriter().tag(1, BYTES).text(code).tag(2, BYTES).text(DOMAIN);
  for (const [key, text] of Object.entries(facts))
    writer.tag(3, BYTES).message(() => writer.tag(1, BYTES).text(key).tag(2, BYTES).text(text));
  return writer.finish();
}

function badRequest(details: ErrorInfo['details']): { value: Uint8Array; listed: number } {
  const writer = new WireWriter();
  let value: Uint8Array = writer.finish();
  let listed = 0;
  for (const { field, issue } of details) {
    writer.tag(1, BYTES).message(() => writer.tag(1, BYTES).text(field).tag(2, BYTES).text(issue));
    const longer = writer.finish();
    if (longer.length > VIOLATIONS_BYTES_MAX) break;
    value = longer;
    listed += 1;
  }
  return { value, listed };
}

function retryInfo(seconds: number): StatusDetail {
  const writer = new WireWriter();
  writer.tag(1, BYTES).message(() => writer.tag(1, VARINT).integer(Math.ceil(seconds)));
  return { type: 'google.rpc.RetryInfo', value: writer.finish() };
}

/** google.rpc.Status, as `grpc-status-details-bin` has it. */
export function statusBytes({ status, message, details }: ShownStatus): Uint8Array {
  const writer = new WireWriter().tag(1, VARINT).integer(status.number).tag(2, BYTES).text(message);
  for (const { type, value } of details)
    writer.tag(3, BYTES).message(() => {
      writer.tag(1, BYTES).text(`type.googleapis.com/${type}`).tag(2, BYTES).bytes(value);
    });
  return writer.finish();
}
