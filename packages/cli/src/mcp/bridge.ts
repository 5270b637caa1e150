// Carries MCP between a host that speaks it over standard input and output and a service that speaks it over HTTP: each line is a
// message that is posted, and each message of the answer becomes a line. It understands no more of them than the headers need.

import { parseJson } from '@tallystick/evidence';
import { printable } from '../output/printable.ts';
import { messagesIn } from './answered-messages.ts';

export interface BridgeParts {
  readonly lines: AsyncIterable<string>;
  /** Writes a line for the host. */
  readonly say: (line: string) => void;
  /** One line on what the reader of the diagnostics should know. */
  readonly tell: (line: string) => void;
  readonly url: string;
  /** What to log in with, and the tenant. */
  readonly headers: Readonly<Record<string, string>>;
}

type Message = Readonly<Record<string, unknown>>;

/** Of the newest revision each message names its own; before that, `initialize` agrees upon one. */
const REVISION = 'io.modelcontextprotocol/protocolVersion';
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};
const PARSE_ERROR = -32_700;
const NO_ANSWER = -31_001;

/** Until there are no more lines and all are answered; false if the service does not know the caller. */
export async function bridge(parts: BridgeParts): Promise<boolean> {
  const posting = new Posting(parts);
  for await (const line of parts.lines) {
    if (posting.isRefused) break;
    if (line.trim() !== '') posting.take(line);
  }
  await posting.ended();
  return !posting.isRefused;
}

class Posting {
  readonly #parts: BridgeParts;
  readonly #open = new Map<unknown, AbortController>();
  readonly #work = new Set<Promise<void>>();
  #revision: string | undefined;
  isRefused = false;

  constructor(parts: BridgeParts) {
    this.#parts = parts;
  }

  take(line: string): void {
    const message = messageIn(line);
    if (message === undefined) {
      this.#sayError(null, PARSE_ERROR, 'The line is no JSON-RPC message.');
      return;
    }
    const { method, params } = message;
    if (method === 'notifications/cancelled') this.#open.get(membersOf(params)['requestId'])?.abort();
    const work = this.#post(line, message).finally(() => this.#work.delete(work));
    this.#work.add(work);
  }

  async ended(): Promise<void> {
    await Promise.all(this.#work);
  }

  async #post(line: string, message: Message): Promise<void> {
    const { id, method } = message;
    const gone = new AbortController();
    if (id !== undefined) this.#open.set(id, gone);
    try {
      const response = await fetch(this.#parts.url, {
        method: 'POST',
        headers: { ...this.#parts.headers, ...this.#headersOf(message) },
        body: line,
        redirect: 'manual',
        signal: gone.signal,
      });
      if (response.status === 401) this.#refuse();
      for await (const answer of messagesIn(response)) {
        if (method === 'initialize') this.#revision = revisionIn(answer) ?? this.#revision;
        // What was refused before it was read is answered to nobody.
        const isToNobody = answer['id'] === null && id !== undefined;
        this.#parts.say(JSON.stringify(isToNobody ? { ...answer, id } : answer));
      }
    } catch (error) {
      if (gone.signal.aborted) return;
      const reason = printable(error instanceof Error ? causeOf(error) : String(error));
      this.#parts.tell(`no answer from ${this.#parts.url}: ${reason}`);
      if (id !== undefined) this.#sayError(id, NO_ANSWER, `The service did not answer: ${reason}.`);
    } finally {
      this.#open.delete(id);
    }
  }

  #refuse(): void {
    if (this.isRefused) return;
    this.isRefused = true;
    this.#parts.tell(
      'the service does not know the caller: give an API key by TALLYSTICK_API_KEY or --api-key',
    );
  }

  #headersOf({ method, params }: Message): Record<string, string> {
    const own = membersOf(membersOf(params)['_meta'])[REVISION];
    const revision = typeof own === 'string' ? own : this.#revision;
    const headers: Record<string, string> = {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...(revision !== undefined && { 'MCP-Protocol-Version': asHeader(revision) }),
    };
    if (typeof own !== 'string' || typeof method !== 'string') return headers;
    const name = membersOf(params)[NAMED_BY[method] ?? ''];
    return {
      ...headers,
      'Mcp-Method': asHeader(method),
      ...(typeof name === 'string' && { 'Mcp-Name': asHeader(name) }),
    };
  }

  #sayError(id: unknown, code: number, message: string): void {
    this.#parts.say(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }));
  }
}

function messageIn(line: string): Message | undefined {
  try {
    const value = parseJson(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Message)
      : undefined;
  } catch {
    return undefined;
  }
}

const membersOf = (value: unknown): Message =>
  typeof value === 'object' && value !== null ? (value as Message) : {};

function revisionIn(answer: Message): string | undefined {
  const { protocolVersion } = membersOf(answer['result']);
  return typeof protocolVersion === 'string' ? protocolVersion : undefined;
}

/** As the protocol wraps what no header can carry as it is. */
function asHeader(value: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.startsWith('=?base64?');
  return isPlain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}

function causeOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}
