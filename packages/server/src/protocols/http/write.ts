// Writes an answer to the connection. Headers are one flat list, in the order in which they are sent, because that is the form
// that Node writes without making another.

import type { ServerResponse } from 'node:http';
import { ByteStream } from './byte-stream.ts';
import type { AnswerHeaders, ErrorReply, Reply } from './mount.ts';
import { STATUS_CODES } from '../../runtime/node-http.ts';

/** The parts of an answer besides its body. */
export interface Envelope {
  readonly correlationId: string;
  readonly addedHeaders: AnswerHeaders;
  /** The connection is not used again. */
  readonly isLast: boolean;
}

/** Writes all of it, but of a stream only what comes before it. */
export type Write = (
  response: ServerResponse,
  reply: Pick<Reply, 'status' | 'headers'>,
  body: Reply['body'],
  envelope: Envelope,
) => void;

/**
 * `standing` are the headers of every answer of a mount; an answer may have its own `Cache-Control` and, as a page between other answers,
 * its own `Content-Security-Policy` in place of theirs.
 */
export function createWriter(standing: AnswerHeaders): Write {
  const {
    'Cache-Control': cacheControl = 'no-store',
    [POLICY]: policy = "default-src 'none'",
    ...others
  } = standing;
  const list = Object.entries(others).flat();
  return (response, { status, headers }, body, { correlationId, addedHeaders, isLast }) => {
    const sent = list.concat('X-Correlation-Id', correlationId);
    for (const name in addedHeaders) sent.push(name, addedHeaders[name]!);
    for (const name in headers) sent.push(name, headers[name]!);
    if (headers['Cache-Control'] === undefined) sent.push('Cache-Control', cacheControl);
    if (headers[POLICY] === undefined) sent.push(POLICY, policy);
    if (isLast) sent.push('Connection', 'close');
    const length = lengthOf(body, status);
    if (length !== undefined) sent.push('Content-Length', String(length));
    response.writeHead(status, sent);
    if (!(body instanceof ByteStream)) response.end(body);
  };
}

const POLICY = 'Content-Security-Policy';

/** Undefined: it is not said, for it is not known yet, or must not be. */
function lengthOf(body: Reply['body'], status: number): number | undefined {
  if (body === undefined) return status === 204 || status === 304 ? undefined : 0;
  return body instanceof ByteStream ? body.byteLength : Buffer.byteLength(body);
}

/** A whole answer as bytes on the wire, for a connection without a request to answer. It is the last one there. */
export function rawAnswer(
  reply: ErrorReply,
  standing: AnswerHeaders,
  correlationId: string,
  nowMs: number,
): string {
  const headers = {
    ...standing,
    'X-Correlation-Id': correlationId,
    ...reply.headers,
    'Content-Length': String(Buffer.byteLength(reply.body)),
    Date: new Date(nowMs).toUTCString(),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}\r\n${lines.join('')}\r\n${reply.body}`;
}
