// An answer onto the wire. Headers are one flat list, in the order in which they are sent, because that is the form
// that Node writes without making another.

import type { ServerResponse } from 'node:http';
import type { Reply } from './answer.ts';

type Headers = Readonly<Record<string, string>>;

/** What an answer carries besides what it says. */
export interface Envelope {
  readonly correlationId: string;
  readonly ofVersion: Headers;
  /** The connection is not used again. */
  readonly isLast: boolean;
}

export type Write = (
  response: ServerResponse,
  reply: Pick<Reply, 'status' | 'headers'>,
  body: string | Buffer | undefined,
  envelope: Envelope,
) => void;

/** `standing` are the headers of every answer; an answer may have its own `Cache-Control` in place of theirs. */
export function createWriter(standing: Headers): Write {
  const { 'Cache-Control': cacheControl = 'no-store', ...others } = standing;
  const list = Object.entries(others).flat();
  return (response, { status, headers }, body, { correlationId, ofVersion, isLast }) => {
    const sent = list.concat('X-Correlation-Id', correlationId);
    for (const name in ofVersion) sent.push(name, ofVersion[name]!);
    for (const name in headers) sent.push(name, headers[name]!);
    if (headers['Cache-Control'] === undefined) sent.push('Cache-Control', cacheControl);
    if (isLast) sent.push('Connection', 'close');
    if (body !== undefined) sent.push('Content-Length', String(Buffer.byteLength(body)));
    else if (status !== 204 && status !== 304) sent.push('Content-Length', '0');
    response.writeHead(status, sent);
    response.end(body);
  };
}
