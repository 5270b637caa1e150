// The one way out over HTTP, as its users see it. Addresses are judged when a connection is made, on what the name resolves
// to, and the connection goes to exactly these, so that a name cannot pass here and lead elsewhere a moment later. TLS is always
// verified, no redirect is followed, and nothing is decompressed. One deadline covers name resolution, connection, TLS,
// headers and body; the body has a limit in bytes.

import type { IncomingHttpHeaders } from 'node:http';
import type { OutboundTimings } from './outbound-error.ts';
import type { TlsMaterial } from './tls-contexts.ts';

export interface OutboundRequest {
  readonly url: string;
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Sent a second time if a kept connection turns out to be closed before anything is answered, so whoever receives it must
   * take a repeat for the same.
   */
  readonly body?: string | Uint8Array;
  readonly answerBytesMax: number;
  /** What becomes of a longer answer: an error, or its first bytes are given. */
  readonly overLimit?: 'Error' | 'Cut';
  /** From the moment at which a slot is free. */
  readonly timeoutMs: number;
  readonly tls?: TlsMaterial | undefined;
  /** Whose request it is: each party has a share of its own of the slots of an origin. */
  readonly party?: string;
  /** Aborted: rejects with its reason. */
  readonly signal?: AbortSignal;
}

export interface OutboundAnswer {
  /** Any status; a redirect is an answer too. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
  /** There was more of the body. */
  readonly isCut: boolean;
  readonly timings: OutboundTimings;
}

export interface OutboundHttp extends Disposable {
  /** Why this URL must not be asked, by what is known now. A name that does not resolve may do so later. */
  judge(url: string): Promise<string | undefined>;
  /** The same by the URL alone: its scheme, and its host where that needs no lookup. */
  judgeAsWritten(url: string): string | undefined;
  /** Rejects with OutboundError unless there is an answer. */
  send(request: OutboundRequest): Promise<OutboundAnswer>;
}
