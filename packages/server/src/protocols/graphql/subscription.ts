// Subscriptions as server-sent events, and any other answer for clients that ask for it in that form (GraphQL over SSE,
// distinct connections). A subscription is the tail of the log; each event of it is an answer of its own.

import type { ExecutionResult } from 'graphql';
import { AuditError, type StreamEvent, type TenantId } from '@tallystick/contract';
import type { Gateway } from '../../gateway/pipeline.ts';
import { writeJson } from '../../written-json.ts';
import { ByteStream } from '../http/byte-stream.ts';
import type { Reply } from '../http/mount.ts';
import type { LastingAnswer, LastingAnswers } from '../streaming/lasting-answers.ts';
import { SSE_TYPE, sseBytes, type SseMessage } from '../streaming/sse.ts';
import { openTail } from '../streaming/tail.ts';
import { tailAsk, type TailArrival } from '../streaming/tail-ask.ts';
import type { Asking } from './asking.ts';
import type { AskedDocument } from './documents.ts';
import type { GraphqlRequest } from './request.ts';
import type { ServedSchema } from './schema.ts';

export interface SubscriptionParts {
  readonly served: ServedSchema;
  readonly gateway: Gateway;
  readonly lasting: LastingAnswers;
  /** Undefined: the request names none. */
  readonly tenant: TenantId | undefined;
  readonly arrival: TailArrival;
  /** For the fields of one event. */
  readonly newAsking: () => Asking;
  /** An answer as it is written. */
  readonly shown: (result: ExecutionResult) => unknown;
  readonly shownError: (error: unknown) => unknown;
}

const COMPLETE: SseMessage = { event: 'complete', data: '' };

const next = (answer: unknown, id?: string): SseMessage => ({
  event: 'next',
  data: writeJson(answer),
  ...(id !== undefined && { id }),
});

/** An answer that is all there. */
export function sseReply(answer: unknown): Reply {
  const body = `event: next\ndata: ${writeJson(answer)}\n\nevent: complete\ndata:\n\n`;
  return { status: 200, headers: SSE_HEADERS, body, coding: undefined };
}

const SSE_HEADERS = { 'Content-Type': SSE_TYPE };

export async function subscribe(
  { document }: AskedDocument,
  { variables, operationName }: GraphqlRequest,
  parts: SubscriptionParts,
): Promise<Reply> {
  const { library, schema } = parts.served;
  const { clock } = parts.gateway;
  const tail = new Tail(parts);
  const results = await library.subscribe({
    schema,
    document,
    variableValues: variables,
    operationName: operationName ?? null,
    subscribeFieldResolver: (_, { fromSequence }: { fromSequence?: number | null }) =>
      tail.open(fromSequence ?? undefined),
    fieldResolver: (source, args, context, info) => {
      if (info.path.prev !== undefined) return tail.asking.resolve(source, args, context, info);
      tail.begin(source as StreamEvent);
      return source;
    },
    typeResolver: (...asked) => tail.asking.typeOf(...asked),
  });
  const { lasting } = tail;
  if (!(Symbol.asyncIterator in results) || lasting === undefined) {
    lasting?.[Symbol.dispose]();
    return sseReply(parts.shown(results as ExecutionResult));
  }
  const body = new ByteStream(sseBytes(messages(results, tail, parts), lasting, clock), undefined);
  return { status: 200, headers: SSE_HEADERS, body, coding: undefined };
}

async function* messages(
  results: AsyncGenerator<ExecutionResult, void, void>,
  tail: Tail,
  { shown, shownError }: SubscriptionParts,
): AsyncGenerator<SseMessage, void> {
  try {
    for await (const result of results) yield next(shown(result), tail.sequence);
  } catch (error) {
    // What ends a tail is no answer to any event: a key that was revoked, a stream that is not whole.
    yield next({ errors: [shownError(error)] });
  }
  yield COMPLETE;
}

/** The tail of one request. Its events are answered one by one, each by operations of its own. */
class Tail {
  readonly #parts: SubscriptionParts;
  lasting: LastingAnswer | undefined;
  asking: Asking;
  /** Of the event that is being answered: where a client goes on that comes back. */
  sequence: string | undefined;

  constructor(parts: SubscriptionParts) {
    this.#parts = parts;
    this.asking = parts.newAsking();
  }

  async open(from: number | undefined): Promise<AsyncIterable<StreamEvent>> {
    const { gateway, lasting, tenant, arrival } = this.#parts;
    if (tenant === undefined)
      throw new AuditError('MISSING_TENANT', 'Name the tenant in the header X-Tenant-Id.');
    if (from !== undefined && from < 1) {
      const issue = 'must be a whole number of 1 or more';
      throw new AuditError('VALIDATION_FAILED', `fromSequence ${issue}.`, {
        details: [{ field: 'fromSequence', issue }],
      });
    }
    this.lasting = lasting.begin(tenant);
    const { growth, clock } = gateway;
    return openTail(from, { ask: tailAsk(arrival, gateway), tenant, growth, clock, lasting: this.lasting });
  }

  begin(event: StreamEvent): void {
    this.asking = this.#parts.newAsking();
    this.sequence = String(event.sequence);
  }
}
