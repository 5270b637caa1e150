// Why a request over HTTP had no answer: what failed, in which phase, and how long each phase took until then.

/** What failed. `peerIsToBlame` says for which of them it is the peer. */
export type OutboundFault =
  /** Our rules forbid the URL, or an address that its name leads to. */
  | 'NotAllowed'
  /** Too many requests are on their way; this one did not begin. */
  | 'Busy'
  /** The forward proxy cannot be reached, or refuses. */
  | 'Proxy'
  /** The name leads to no address, or no name server says so in time. */
  | 'Dns'
  /** No connection. */
  | 'Connect'
  /** No TLS: no version in common, or a certificate that does not verify, ours or theirs. */
  | 'Tls'
  /** No whole answer in time. */
  | 'Timeout'
  /** The connection broke off before the answer was whole. */
  | 'Reset'
  /** What came is not HTTP. */
  | 'Protocol'
  /** The answer, or its headers, are over the limit. */
  | 'TooLarge';

export type OutboundPhase = 'Judge' | 'Wait' | 'Dns' | 'Connect' | 'Tls' | 'FirstByte' | 'Body';

/** Milliseconds. A phase that was not entered has none: a kept connection has no Dns, Connect and Tls. */
export interface OutboundTimings {
  /** For a free slot; not part of `totalMs`. */
  readonly waitMs: number;
  readonly dnsMs?: number;
  /** The tunnel through a proxy included. */
  readonly connectMs?: number;
  readonly tlsMs?: number;
  /** From the request to the first byte of the answer. */
  readonly firstByteMs?: number;
  readonly totalMs: number;
}

export interface OutboundCircumstances extends ErrorOptions {
  readonly phase?: OutboundPhase;
  readonly timings?: OutboundTimings;
}

const NO_TIME: OutboundTimings = { waitMs: 0, totalMs: 0 };

/**
 * The message names the origin only, since the rest of a URL may be a secret, and no address that a name leads to, since
 * it may tell of a network that its reader does not know. The cause may name them: it is for diagnostics.
 */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly fault: OutboundFault;
  readonly phase: OutboundPhase;
  readonly timings: OutboundTimings;

  constructor(fault: OutboundFault, message: string, circumstances: OutboundCircumstances = {}) {
    const { phase = 'Judge', timings = NO_TIME, ...options } = circumstances;
    super(message, options);
    this.fault = fault;
    this.phase = phase;
    this.timings = timings;
  }
}

/** Not where nothing was asked of the peer, or where what stands between us and it failed. */
export function peerIsToBlame(fault: OutboundFault): boolean {
  return fault !== 'Busy' && fault !== 'Proxy';
}
