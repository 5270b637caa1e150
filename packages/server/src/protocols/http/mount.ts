// A mount: a protocol's place under the HTTP listener. The listener reads the head of a request and writes the reply;
// the mount makes the reply.

import type { IncomingMessage } from 'node:http';
import type { AuditError, OperationName } from '@tallystick/contract';
import type { RequestCorrelation } from '../../gateway/correlation.ts';
import type { ErrorPlace } from '../../gateway/shown-error.ts';
import type { ByteStream } from './byte-stream.ts';
import type { Coding } from './coding.ts';
import type { Target } from './target.ts';

export type AnswerHeaders = Readonly<Record<string, string>>;

/** A request from its arrival to its reply. */
export interface Exchange extends Target {
  readonly request: IncomingMessage;
  readonly correlation: RequestCorrelation;
  /** Whom its sender counts as, where requests are counted. */
  readonly partition: () => string;
  /** Where it comes from. */
  readonly address: () => string;
  /** Headers that the mount adds to the reply, also to a refusal. */
  addedHeaders: AnswerHeaders;
  /** What the mount has found that it asks for; undefined if nothing, or before that. */
  served: Served | undefined;
}

export interface Served {
  /** Undefined: several, or none. */
  readonly operation: OperationName | undefined;
  /** Its path with the names of parameters in the places of their values. */
  readonly route: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** Undefined: no body. */
  readonly body: string | Uint8Array | ByteStream | undefined;
  /** How the body, which is a text then, is to be compressed; the headers say it already. */
  readonly coding: Coding | undefined;
}

/** The reply to an error; its body is text. */
export interface ErrorReply extends Reply {
  readonly body: string;
}

export interface Mount {
  /**
   * The mount serves this path and all below it: `/soap/v1`. One that ends with a dot serves all paths that begin with it.
   * Empty: every path that no other mount serves.
   */
  readonly prefix: string;
  /** Sent with every reply of the mount; its security headers are among them. */
  readonly standingHeaders: AnswerHeaders;
  /** Loads what its first request would wait for, in steps that others come between (P17). */
  readonly load?: () => Promise<unknown>;
  handle(exchange: Exchange): Promise<Reply>;
  /** Makes the reply when `handle` throws, or when the listener itself refuses the request. */
  refuse(error: AuditError, place: ErrorPlace): ErrorReply;
}

/** Finds the mount of a path; the longest prefix wins. */
export function mountsByPath<M extends Pick<Mount, 'prefix'>>(mounts: readonly M[]): (path: string) => M {
  const longestFirst = mounts.toSorted((one, other) => other.prefix.length - one.prefix.length);
  const fallback = longestFirst.pop();
  if (fallback?.prefix !== '' || new Set(mounts.map(({ prefix }) => prefix)).size < mounts.length)
    throw new Error('every path has one mount');
  return (path) => longestFirst.find(({ prefix }) => isBelow(path, prefix)) ?? fallback;
}

const isBelow = (path: string, prefix: string): boolean =>
  path.startsWith(prefix) &&
  (path.length === prefix.length || prefix.endsWith('.') || path[prefix.length] === '/');
