// What an operation hands back, before any protocol has touched it: the kind of answer, its body, and facts that
// are about the answer rather than in it. REST makes a status and headers of kind and facts (rest-status.ts,
// headers.ts); the other protocols show the body and what their own rules have room for.

/** How an operation can succeed, or fail with a full body. */
export const ANSWER_KINDS = {
  Done: 'It was done; the body is the result.',
  Created: 'Something new exists.',
  Accepted: 'The work goes on after the answer.',
  Removed: 'It is gone; there is no body.',
  Repeated: 'Recognised as a repeat: the first answer again, nothing done.',
  Partial: 'Some parts succeeded, some did not; the body says which.',
  Rejected: 'No part succeeded; the body says why, part by part.',
  Unavailable: 'The body reports a state in which the service should not be used.',
  Part: 'The requested range of the bytes.',
  Unchanged: 'The caller has this version already; there is no body.',
} as const;

export type AnswerKind = keyof typeof ANSWER_KINDS;

/** Facts about an answer that protocols may carry beside the body. */
export interface AnswerFacts {
  /** The version of the representation, as an HTTP entity tag with its quotes. */
  readonly etag?: string;
  /** How far the projection that answered is behind the log. */
  readonly projectionLagMs?: number;
  /** Of an erasure that the body names as an operation. */
  readonly erasureId?: string;
  /** The text of `Content-Range`, where only a part of the bytes is sent. */
  readonly contentRange?: string;
}

export const ANSWER_FACTS = [
  'etag',
  'projectionLagMs',
  'erasureId',
  'contentRange',
] as const satisfies (keyof AnswerFacts)[];

/**
 * Other forms of the same answer, by the media types that the binding names in `alsoAs`; made when asked for. What is
 * text is in UTF-8. Protocols that know no media types pass them over.
 */
export type Renderings = Readonly<Record<string, () => string | Uint8Array>>;

/** An answer that is a file or a text of its own format. */
export interface ByteAnswer {
  readonly mediaType: string;
  /**
   * What is iterated holds nothing open before the first step, and closes what it opened when it is left: it may be
   * left early, or never be begun.
   */
  readonly bytes: Uint8Array | AsyncIterable<Uint8Array>;
  /** Of what is iterated, where it is known before. */
  readonly byteLength?: number;
  readonly fileName?: string;
}
