// The one way out over HTTP. Addresses are judged when a connection is made, on what the name resolves to, so that a name
// cannot pass here and lead elsewhere a moment later. TLS is always verified, no redirect is followed, and nothing is
// decompressed. One deadline covers name resolution, connection, TLS, headers and body; the body has a limit in bytes.

import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request as requestPlain } from 'node:http';
import { Agent as TlsAgent, request as requestTls } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import type { Clock } from '../runtime/clock.ts';
import { withDeadline } from '../runtime/deadline.ts';

/** Whether this IP address may be connected to. Every address of a name has to pass. */
export type AddressRule = (address: string) => boolean;

export const anyAddress: AddressRule = () => true;
export const noAddress: AddressRule = () => false;

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

export const loopbackOnly: AddressRule = (address) =>
  LOOPBACK.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

export interface OutboundHttpOptions {
  readonly clock: Clock;
  /** Which addresses may be connected to over TLS, and which without it. */
  readonly https: AddressRule;
  readonly http: AddressRule;
  /** In PEM: what verifies the certificates of others, in the place of the authorities that the system trusts. */
  readonly authorities?: string | undefined;
  /** For tests: what a name resolves to. */
  readonly lookup?: typeof systemLookup;
}

export interface OutboundRequest {
  readonly url: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly answerBytesMax: number;
  readonly timeoutMs: number;
  /** Aborted: rejects with its reason. */
  readonly signal?: AbortSignal;
}

export interface OutboundAnswer {
  /** Any status; a redirect is an answer too. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

/** Rejects with OutboundError unless there is an answer. */
export interface OutboundHttp extends Disposable {
  send(request: OutboundRequest): Promise<OutboundAnswer>;
}

export type OutboundFault =
  /** Our rules forbid the scheme or the address. */
  | 'NotAllowed'
  /** Nothing was there, or no whole answer came in time. */
  | 'NoAnswer'
  /** There was an answer, and it is over its limit. */
  | 'TooLarge';

/** Messages name the origin only: the rest of an address may be a secret. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly fault: OutboundFault;

  constructor(fault: OutboundFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

/** Below the idle timeout of common servers, so that no request is sent on a connection that is being closed. */
const IDLE_MS = 4000;
const USER_AGENT = 'tallystick';

export function createOutboundHttp(options: OutboundHttpOptions): OutboundHttp {
  return new GuardedHttp(options);
}

class GuardedHttp implements OutboundHttp {
  readonly #options: OutboundHttpOptions;
  readonly #plain: Agent;
  readonly #tls: TlsAgent;

  constructor(options: OutboundHttpOptions) {
    const { http, https, authorities, lookup = systemLookup } = options;
    const kept = { keepAlive: true, timeout: IDLE_MS };
    this.#options = options;
    this.#plain = new Agent({ ...kept, lookup: judgedLookup(lookup, http, 'http:') });
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED turns the default off.
    const trusted = authorities === undefined ? {} : { ca: authorities };
    const verified = { ...kept, ...trusted, rejectUnauthorized: true };
    this.#tls = new TlsAgent({ ...verified, lookup: judgedLookup(lookup, https, 'https:') });
  }

  async send(request: OutboundRequest): Promise<OutboundAnswer> {
    const url = this.#allowed(request.url);
    const { timeoutMs, signal } = request;
    const tooLate = () =>
      new OutboundError('NoAnswer', `${url.origin} gave no whole answer within ${timeoutMs} ms`);
    return withDeadline(this.#options.clock, timeoutMs, tooLate, (deadline) => {
      const ends = signal === undefined ? deadline.signal : AbortSignal.any([deadline.signal, signal]);
      return this.#exchange(url, request, ends);
    });
  }

  [Symbol.dispose](): void {
    this.#plain.destroy();
    this.#tls.destroy();
  }

  #allowed(text: string): URL {
    const url = URL.parse(text);
    if (url === null) throw new OutboundError('NotAllowed', 'the address is not a URL');
    const { protocol, hostname, username, password } = url;
    if (protocol !== 'http:' && protocol !== 'https:') {
      throw new OutboundError('NotAllowed', `an address begins with http: or https:, not with ${protocol}`);
    }
    if (username !== '' || password !== '') {
      throw new OutboundError(
        'NotAllowed',
        `the address of ${url.origin} has a user name or a password in it`,
      );
    }
    // Node does not call the lookup for an IP address.
    const address = hostname.replace(/^\[|\]$/g, '');
    const rule = protocol === 'https:' ? this.#options.https : this.#options.http;
    if (isIP(address) !== 0 && !rule(address)) throw notAllowed(address, address, protocol);
    return url;
  }

  #exchange(url: URL, request: OutboundRequest, signal: AbortSignal): Promise<OutboundAnswer> {
    const { method = 'GET', body, answerBytesMax } = request;
    const isTls = url.protocol === 'https:';
    const headers = { 'accept-encoding': 'identity', 'user-agent': USER_AGENT, ...request.headers };
    const options = { method, headers, signal, agent: isTls ? this.#tls : this.#plain };
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) =>
        reject(signal.aborted ? (signal.reason as Error) : outboundError(url, error));
      const sent = (isTls ? requestTls : requestPlain)(url, options, (answer) => {
        const { statusCode = 0, headers: answerHeaders } = answer;
        readBody(answer, url, answerBytesMax).then(
          (bytes) => resolve({ status: statusCode, headers: answerHeaders, body: bytes }),
          fail,
        );
      });
      sent.on('error', fail);
      sent.end(body);
    });
  }
}

/** Resolves a name and lets the addresses pass only if the rule allows all of them. */
function judgedLookup(lookup: typeof systemLookup, rule: AddressRule, protocol: string): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error !== null) return callback(error, []);
      const refused = found.find(({ address }) => !rule(address));
      if (refused !== undefined) return callback(notAllowed(hostname, refused.address, protocol), []);
      if (options.all === true) return callback(null, found);
      const [{ address, family } = { address: '', family: 0 }] = found;
      return callback(null, address, family);
    });
  };
}

/** Leaving the loop early closes the connection. */
async function readBody(answer: IncomingMessage, url: URL, bytesMax: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) {
      throw new OutboundError('TooLarge', `the answer of ${url.origin} is over ${bytesMax} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function notAllowed(host: string, address: string, protocol: string): OutboundError {
  const where = host === address ? address : `${host}, which is at ${address},`;
  return new OutboundError('NotAllowed', `${where} must not be connected to over ${protocol}`);
}

function outboundError({ origin }: URL, error: unknown): OutboundError {
  if (error instanceof OutboundError) return error;
  // Where several addresses were tried, the message is empty.
  const { message = '', code = 'no connection' } = error as { message?: string; code?: string };
  return new OutboundError('NoAnswer', `${origin} gave no answer: ${message || code}`, { cause: error });
}
