// The port to the consumers of webhooks: one POST, and what came of it. Where it may go is judged behind the port.

import type { SubscriptionTls, TenantId } from '@tallystick/contract';

export interface Post {
  /** Tenants do not wait for one another, also where they send to the same consumer. */
  readonly tenant: TenantId;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** For name resolution, connection, TLS, headers and body together. */
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
  readonly tls: SubscriptionTls | undefined;
  readonly signal: AbortSignal;
}

/** Milliseconds since the attempt began; a phase that was not reached, or not needed, has none. */
export interface PostTimings {
  readonly dnsMs?: number;
  readonly connectMs?: number;
  readonly tlsMs?: number;
  readonly firstByteMs?: number;
}

export type PostResult = PostTimings & { readonly latencyMs: number } & (
    | {
        readonly status: number;
        readonly retryAfter: string | undefined;
        /** The first bytes of the answer. */
        readonly body: Uint8Array;
      }
    | {
        /** A class of error, and a message that names no address that a name resolved to. */
        readonly fault: string;
        readonly message: string;
        /** The consumer is not to blame: too many requests were on their way, or the proxy before it failed. */
        readonly isOurs: boolean;
      }
  );

export interface Consumers {
  /** Rejects only where it was aborted. */
  post(post: Post): Promise<PostResult>;
}
