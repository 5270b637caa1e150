// The reply to a call in the form in which it came: its status is told in trailers (gRPC), in the last frame of the body (gRPC-Web,
// streams of Connect), or as a status of HTTP with a body of JSON (Connect).

import { ByteStream } from '../http/byte-stream.ts';
import type { AnswerHeaders, Reply } from '../http/mount.ts';
import { type ShownStatus, statusBytes } from './error-details.ts';
import { type CallForm, CONTENT_TYPES } from './form.ts';
import { END_STREAM, frame, TRAILERS } from './frames.ts';

/** Over HTTP/2 trailers follow the body; they are asked for when all of it was sent. */
export interface CallReply extends Reply {
  readonly trailers?: () => AnswerHeaders;
}

const ACCEPTED = 'gzip, identity';
const NO_HEADERS: AnswerHeaders = {};

export function messageReply(
  form: CallForm,
  message: Uint8Array,
  headers: AnswerHeaders = NO_HEADERS,
): CallReply {
  const reply = { status: 200, headers: { ...headers, 'Content-Type': form.contentType }, coding: undefined };
  switch (form.protocol) {
    case 'Connect':
      return { ...reply, body: message };
    case 'Grpc':
      return { ...reply, body: frame(0, message), trailers: () => OK };
    case 'GrpcWeb':
      return { ...reply, body: sent(form, Buffer.concat([frame(0, message), trailerFrame(OK)])) };
    case 'ConnectStream':
      return { ...reply, body: Buffer.concat([frame(0, message), frame(END_STREAM, Buffer.from('{}'))]) };
  }
}

/** `failed` tells how the stream ended, of an error that came after its beginning. */
export function streamReply(
  form: CallForm,
  messages: AsyncIterable<Uint8Array>,
  failed: (error: unknown) => ShownStatus,
  headers: AnswerHeaders = NO_HEADERS,
): CallReply {
  let ended: ShownStatus | undefined;
  const chunks = async function* () {
    try {
      for await (const message of messages) yield sent(form, frame(0, message));
    } catch (error) {
      ended = failed(error);
    }
    const trailers = ended === undefined ? OK : statusHeaders(ended);
    if (form.protocol === 'GrpcWeb') yield sent(form, trailerFrame(trailers));
    if (form.protocol === 'ConnectStream') yield frame(END_STREAM, endOf(ended));
  };
  const trailers = () => (ended === undefined ? OK : statusHeaders(ended));
  return {
    status: 200,
    headers: { ...headers, 'Content-Type': form.contentType },
    body: new ByteStream(chunks(), undefined),
    coding: undefined,
    ...(form.protocol === 'Grpc' && { trailers }),
  };
}

export function statusReply(form: CallForm, shown: ShownStatus, headers: AnswerHeaders): CallReply {
  const reply = { status: 200, headers: { ...headers, 'Content-Type': form.contentType }, coding: undefined };
  switch (form.protocol) {
    case 'Grpc':
      // All of it in the head: a reply that is nothing but trailers.
      return {
        ...reply,
        headers: { ...reply.headers, 'grpc-accept-encoding': ACCEPTED, ...statusHeaders(shown) },
        body: undefined,
      };
    case 'GrpcWeb':
      return { ...reply, body: sent(form, trailerFrame(statusHeaders(shown))) };
    case 'ConnectStream':
      return { ...reply, body: frame(END_STREAM, endOf(shown)) };
    case 'Connect':
      return { ...connectError(shown), headers: { ...headers, 'Content-Type': 'application/json' } };
  }
}

/** For a request that is no call: of no content type of ours, or no request at all. */
export function connectError(shown: ShownStatus): Reply & { readonly body: string } {
  return {
    status: shown.status.httpStatus,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(connectStatus(shown)),
    coding: undefined,
  };
}

export const unsupportedType = (shown: ShownStatus): Reply => ({
  ...connectError(shown),
  status: 415,
  headers: { 'Content-Type': 'application/json', 'Accept-Post': CONTENT_TYPES },
});

function connectStatus({ status, message, details }: ShownStatus): object {
  const listed = details.map(({ type, value }) => ({
    type,
    value: Buffer.from(value).toString('base64').replace(/=+$/, ''),
  }));
  return { code: status.word, message, details: listed };
}

const endOf = (shown: ShownStatus | undefined): Buffer =>
  Buffer.from(JSON.stringify(shown === undefined ? {} : { error: connectStatus(shown) }));

const OK: AnswerHeaders = { 'grpc-status': '0' };

function statusHeaders(shown: ShownStatus): AnswerHeaders {
  return {
    'grpc-status': String(shown.status.number),
    'grpc-message': percentEncoded(shown.message),
    'grpc-status-details-bin': Buffer.from(statusBytes(shown)).toString('base64').replace(/=+$/, ''),
  };
}

/** Visible ASCII but for the percent sign stays as it is. */
export function percentEncoded(text: string): string {
  return text.replaceAll(/[^\x20-\x24\x26-\x7e]+/g, (piece) =>
    [...Buffer.from(piece)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}

function trailerFrame(trailers: AnswerHeaders): Buffer {
  const lines = Object.entries(trailers).map(([name, value]) => `${name}: ${value}\r\n`);
  return frame(TRAILERS, Buffer.from(lines.join('')));
}

/** As base64 where the form asks for it; each piece by itself, with its own padding. */
function sent({ isText }: CallForm, bytes: Buffer): Uint8Array {
  return isText ? Buffer.from(bytes.toString('base64')) : bytes;
}
