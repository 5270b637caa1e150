// The ids of a request: its correlation id (`X-Correlation-Id`, else a new UUID), its W3C trace id (from
// `traceparent`, else new) and its own request id. Decided before anything else, so that every answer has them,
// refusals of malformed requests included.

import { isUuid, LIMITS, type Operation, type OperationName } from '@tallystick/contract';
import { type Correlation, receivedMember } from '../call.ts';
import type { Random } from '../runtime/random.ts';
import { isVisible, notVisible } from './visible-text.ts';

/** version, trace id, parent id, flags; a later version may append more. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;
const ZEROS = /^0+$/;

export interface CorrelationSource {
  readonly random: Random;
  readonly nextId: () => string;
}

/** The correlation of one request. Ids that the sender does not give are made on demand: often nobody asks. */
export class RequestCorrelation implements Correlation {
  readonly #source: CorrelationSource;
  /** The ids that were given and are not allowed. */
  readonly #refused: string | undefined;
  #correlationId: string | undefined;
  #correlationIsGiven: boolean;
  #traceId: string | undefined;
  #requestId: string | undefined;

  /** Never fails: an id that is not allowed is replaced, and `check` refuses the call later. */
  constructor(given: string | undefined, traceparent: string | undefined, source: CorrelationSource) {
    this.#source = source;
    this.#correlationIsGiven = given !== undefined && isVisible(given, LIMITS.correlationIdLengthMax);
    this.#correlationId = this.#correlationIsGiven ? given : undefined;
    this.#refused = this.#correlationIsGiven ? undefined : given;
    this.#traceId = readTraceId(traceparent);
  }

  check(): void {
    if (this.#refused !== undefined)
      throw notVisible('X-Correlation-Id', this.#refused, LIMITS.correlationIdLengthMax);
  }

  get correlationId(): string {
    return (this.#correlationId ??= this.#source.random.uuid());
  }

  get correlationIsGiven(): boolean {
    return this.#correlationIsGiven;
  }

  get traceId(): string {
    return (this.#traceId ??= newTraceId(this.#source.random));
  }

  get requestId(): string {
    return (this.#requestId ??= this.#source.nextId());
  }

  /** A single event names the correlation of its request, where the header does not. */
  adoptFrom(operation: Operation<OperationName>, { event }: Readonly<Record<string, unknown>>): void {
    if (this.#correlationIsGiven || operation.name !== 'events.ingest') return;
    const own = receivedMember(event, 'correlationId');
    if (typeof own !== 'string' || !isUuid(own)) return;
    this.#correlationId = own;
    this.#correlationIsGiven = true;
  }
}

/** A malformed trace context is ignored, as the W3C recommendation asks. */
function readTraceId(traceparent: string | undefined): string | undefined {
  const match = traceparent === undefined ? null : TRACEPARENT.exec(traceparent);
  if (match === null) return undefined;
  const [, version, traceId = '', parentId = '', more] = match;
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  return ZEROS.test(traceId) || ZEROS.test(parentId) ? undefined : traceId;
}

function newTraceId(random: Random): string {
  return Buffer.from(random.bytes(16)).toString('hex');
}
