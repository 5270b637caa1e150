// What the tests of all protocols ask through: a client of one protocol, which is given the input of an operation as the
// contract has it and tells what was answered in the same form, whatever is on the wire.

import type { AnswerKind, ErrorInfo, OperationName, Protocol, Version } from '@tallystick/contract';
import type { TestApp } from '../../packages/server/src/testing/test-app.ts';

export interface Speaker extends AsyncDisposable {
  readonly protocol: Protocol;
  /** Those that the protocol speaks, oldest first. */
  readonly versions: readonly Version[];
  ask(name: OperationName, input: object, by?: Asking): Promise<Told>;
}

/** What belongs to the call; each protocol has its own place for it. */
export interface Asking {
  readonly key?: string;
  readonly token?: string;
  readonly tenant?: string;
  readonly idempotencyKey?: string;
  readonly correlationId?: string;
  readonly traceparent?: string;
  /** Undefined: the first that the protocol speaks. */
  readonly version?: Version;
}

export interface Told {
  /** REST cannot tell a repeat of what is answered 200 the first time, too: it is `Done` there. */
  readonly kind?: AnswerKind;
  /** Undefined where the operation answers none. A list is a page, without links. */
  readonly body?: unknown;
  readonly error?: Pick<ErrorInfo, 'code' | 'message' | 'details' | 'traceId' | 'requestId'>;
  /** What the answer carries beside it, as headers or metadata, under names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A protocol under test. */
export interface Spoken {
  readonly protocol: Protocol;
  readonly versions: readonly Version[];
  /** What the service must be started with so that it speaks. */
  readonly settings?: Readonly<Record<string, string>>;
  speak(app: TestApp): Promise<Speaker>;
}
