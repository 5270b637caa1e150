// The port to the consumers of webhooks: one POST and its result. The adapter judges where it may go.

import type { SubscriptionTls, TenantId } from '@tallystick/contract';

export interface Post {
  /** Tenants do not wait for one another, even if they send to the same consumer. */
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
        /** A class of error, and a message that does not name the resolved address. */
        readonly fault: string;
        readonly message: string;
        /** The consumer is not to blame: too many requests were under way, or the proxy failed. */
        readonly isOurs: boolean;
      }
  );

export interface Consumers {
  /** Rejects only if it is aborted. */
  post(post: Post): Promise<PostResult>;
}
