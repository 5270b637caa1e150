// Between our listener and the SDK, which speaks the Request and Response of the Fetch Standard. The SDK gets neither a
// credential nor the body, which has been read.

import { ByteStream } from '../http/byte-stream.ts';
import type { Exchange, Reply } from '../http/mount.ts';
import { header } from '../http/request-headers.ts';

/** What the protocol looks at. */
const PASSED = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'last-event-id'];

export function webRequest({ request }: Exchange, url: string, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const name of PASSED) {
    const value = header(request.headers, name);
    if (value !== undefined) headers.set(name, value);
  }
  return new Request(url, { method: 'POST', headers, signal });
}

/** Headers of the connection, and those that the listener sets by itself. */
const OURS = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'cache-control']);

/** `over` is called when the whole answer has been made. */
export async function replyOf(response: Response, over: () => void): Promise<Reply> {
  const headers: Record<string, string> = {};
  for (const [name, value] of response.headers) if (!OURS.has(name)) headers[name] = value;
  const { status, body } = response;
  const isStream = headers['content-type']?.startsWith('text/event-stream') === true;
  if (body !== null && isStream) {
    return { status, headers, body: new ByteStream(ending(body, over), undefined), coding: undefined };
  }
  over();
  const text = body === null ? undefined : await response.text();
  return { status, headers, body: text === '' ? undefined : text, coding: undefined };
}

async function* ending(body: AsyncIterable<Uint8Array>, over: () => void): AsyncGenerator<Uint8Array, void> {
  try {
    yield* body;
  } finally {
    over();
  }
}
