// In which of three protocols a call comes, by its content type: gRPC, which needs HTTP/2; gRPC-Web, where the trailers are
// the last frame of the body; and Connect, where a single message is the body itself. All carry messages of Protocol Buffers
// or the JSON of them.

import { AuditError } from '@tallystick/contract';
import { header, type HeaderValues } from '../http/request-headers.ts';

export type Codec = 'Proto' | 'Json';

export interface CallForm {
  readonly protocol: 'Grpc' | 'GrpcWeb' | 'Connect' | 'ConnectStream';
  readonly codec: Codec;
  /** gRPC-Web whose bytes are sent as base64. */
  readonly isText: boolean;
  readonly contentType: string;
}

const GRPC = /^application\/grpc(?<web>-web(?<text>-text)?)?(?:\+(?<codec>proto|json))?$/;
const CONNECT = /^application\/(?<stream>connect\+)?(?<codec>proto|json)$/;

/** How a call is answered that says nothing of its own form: as Connect does it, in JSON. */
export const PLAIN_FORM: CallForm = {
  protocol: 'Connect',
  codec: 'Json',
  isText: false,
  contentType: 'application/json',
};

export const CONTENT_TYPES =
  'application/grpc, application/grpc+proto, application/grpc+json, application/grpc-web+proto, application/grpc-web+json, application/grpc-web-text+proto, application/proto, application/json, application/connect+proto, application/connect+json';

/** Undefined: it is none of them. */
export function formOf(headers: HeaderValues): CallForm | undefined {
  const [contentType = ''] = (header(headers, 'content-type') ?? '').toLowerCase().split(';', 1);
  const type = contentType.trim();
  const grpc = GRPC.exec(type)?.groups;
  const codecOf = (name: string | undefined): Codec => (name === 'json' ? 'Json' : 'Proto');
  if (grpc !== undefined) {
    const { web, text, codec } = grpc;
    const protocol = web === undefined ? 'Grpc' : 'GrpcWeb';
    return { protocol, codec: codecOf(codec), isText: text !== undefined, contentType: type };
  }
  const connect = CONNECT.exec(type)?.groups;
  if (connect === undefined) return undefined;
  const protocol = connect['stream'] === undefined ? 'Connect' : 'ConnectStream';
  return { protocol, codec: codecOf(connect['codec']), isText: false, contentType: type };
}

/** What the sender says that compressed messages are compressed with. */
export function encodingOf(headers: HeaderValues): string | undefined {
  return header(headers, 'grpc-encoding') ?? header(headers, 'connect-content-encoding');
}

const UNITS_MS: Readonly<Record<string, number>> = { H: 3.6e6, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** How long the sender waits for the answer; undefined: it does not say. */
export function timeoutMsOf(headers: HeaderValues): number | undefined {
  const grpc = header(headers, 'grpc-timeout');
  const connect = header(headers, 'connect-timeout-ms');
  if (grpc !== undefined) {
    const [, digits, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(grpc) ?? [];
    if (digits === undefined)
      throw badTimeout('grpc-timeout', 'must be up to 8 digits and a unit, like 10S', grpc);
    return Number(digits) * UNITS_MS[unit]!;
  }
  if (connect === undefined) return undefined;
  if (!/^\d{1,10}$/.test(connect))
    throw badTimeout('connect-timeout-ms', 'must be up to 10 digits: milliseconds', connect);
  return Number(connect);
}

function badTimeout(field: string, issue: string, value: string): AuditError {
  return new AuditError('INVALID_HEADER', `${field} ${issue}.`, { details: [{ field, issue, value }] });
}
