// GraphQL over HTTP: a document is executed as operations that go through the gateway one by one. The request enters before
// its body is read; what it asks for is judged field by field.

import type { ExecutionResult } from 'graphql';
import { AuditError, LIMITS, REST_STATUS_OF_ERROR, type Version } from '@tallystick/contract';
import { type Arrival, enter, type Gateway } from '../../gateway/pipeline.ts';
import { asAuditError, type ErrorPlace } from '../../gateway/shown-error.ts';
import type { Telemetry } from '../../telemetry.ts';
import { writeJson } from '../../written-json.ts';
import { preferredType } from '../http/accept.ts';
import { errorHeaders } from '../http/error-headers.ts';
import type { ErrorReply, Exchange, Mount, Reply } from '../http/mount.ts';
import { ratedSender } from '../http/rated-sender.ts';
import { callFacts, header } from '../http/request-headers.ts';
import { standingHeaders } from '../http/standing-headers.ts';
import { once } from '../http/static-file.ts';
import { versionHeaders } from '../http/version-headers.ts';
import type { BodyParts } from '../input/json-body.ts';
import type { LastingAnswers } from '../streaming/lasting-answers.ts';
import { Asking, type AskingParts } from './asking.ts';
import { type AskedDocument, Documents } from './documents.ts';
import {
  documentErrors,
  type ErrorParts,
  fieldErrors,
  refused,
  shown,
  type ShownGraphqlError,
} from './errors.ts';
import { pageReply, wantsPage } from './graphiql.ts';
import { type GraphqlRequest, readRequest } from './request.ts';
import { loadSchema, type ServedSchema } from './schema.ts';
import { sseReply, subscribe } from './subscription.ts';
import { variableFaults } from './variable-faults.ts';

export interface GraphqlOptions {
  readonly gateway: Gateway;
  readonly bodies: BodyParts;
  readonly telemetry: Telemetry;
  readonly hasIntrospection: boolean;
  readonly lasting: LastingAnswers;
  /** Whether the service is reached over TLS, here or at a proxy in front. */
  readonly isTls: boolean;
}

const RESPONSE = 'application/graphql-response+json';
const JSON_TYPE = 'application/json';
const EVENTS = 'text/event-stream';
type MediaType = typeof RESPONSE | typeof JSON_TYPE | typeof EVENTS;

interface Served {
  readonly schema: ServedSchema;
  readonly documents: Documents;
}

export function createGraphqlMount(version: Version, options: GraphqlOptions): Mount {
  const prefix = `/graphql/${version}`;
  const { gateway, isTls, hasIntrospection } = options;
  const load = once(async () => {
    const schema = await loadSchema(version, gateway.operations);
    return { schema, documents: new Documents(schema, hasIntrospection) };
  });
  return {
    prefix,
    load,
    standingHeaders: standingHeaders(isTls),
    async handle(exchange) {
      if (exchange.path !== prefix) {
        throw new AuditError('ROUTE_NOT_FOUND', `There is no ${exchange.path.slice(0, 200)}.`);
      }
      exchange.served = { operation: undefined, route: prefix };
      if (wantsPage(exchange)) return pageReply(exchange);
      const type = mediaTypeFor(header(exchange.request.headers, 'accept'));
      try {
        return await answered(exchange, version, type, options, load);
      } catch (error) {
        if (error instanceof AuditError && error.code !== 'INTERNAL_ERROR')
          return replyToError(error, exchange, gateway.clock.now(), type);
        throw error;
      }
    },
    refuse: (error, place) => replyToError(error, place, gateway.clock.now(), JSON_TYPE),
  };
}

/** The newer type only for clients that name it: those that accept anything understand JSON. */
function mediaTypeFor(accept = ''): MediaType {
  const isNamed = (type: string) => accept.toLowerCase().includes(type);
  const [first = JSON_TYPE, ...others] = ([RESPONSE, EVENTS] as const).filter(isNamed);
  return preferredType<MediaType>(accept, [first, ...others, JSON_TYPE]);
}

async function answered(
  exchange: Exchange,
  version: Version,
  type: MediaType,
  options: GraphqlOptions,
  load: () => Promise<Served>,
): Promise<Reply> {
  const { gateway, bodies } = options;
  const { request, correlation, path } = exchange;
  exchange.addedHeaders = { ...exchange.addedHeaders, ...versionHeaders(version, gateway.versionStates) };
  if (request.method !== 'POST' && request.method !== 'GET') throw new WrongMethod('GET, POST');
  const arrival: AskingParts['arrival'] = {
    ...callFacts(exchange),
    correlation,
    version,
    path,
    sender: ratedSender(exchange, gateway.clock),
  };
  const entered = await enter(arrival, gateway);
  const asked = await readRequest(exchange, entered.tenant ?? entered.caller.identity, bodies);
  const { schema: served, documents } = await load();
  const parts = { place: exchange, nowMs: gateway.clock.now(), telemetry: options.telemetry };
  const read = documents.read(asked);
  if (!('document' in read)) {
    const errors = documentErrors(read, options.hasIntrospection, parts);
    return replyWith({ errors }, type === RESPONSE ? 400 : 200, type);
  }
  checkMutation(read, request.method, arrival, served);
  const execution = { served, gateway, bodies, entered, arrival };
  if (read.operation.operation !== served.library.OperationTypeNode.SUBSCRIPTION) {
    const result = await executed(read, asked, execution, exchange, parts);
    return replyWith(result, 200, type);
  }
  if (type !== EVENTS) throw refused([{ field: 'Accept', issue: `must be ${EVENTS} for a subscription` }]);
  const faults = variableFaults(served, read.operation, asked.variables);
  if (faults.length > 0) throw refused(faults);
  return subscribe(read, asked, {
    served,
    gateway,
    arrival,
    lasting: options.lasting,
    tenant: entered.tenant,
    newAsking: () => new Asking({ ...execution, hasLinks: false, gone: NEVER }),
    shown: (result) => shownResult(result, served, parts),
    shownError: (error) => shown(asAuditError(error, exchange, options.telemetry), parts),
  });
}

/** A tail ends with the answer that it is made for. */
const NEVER = new AbortController().signal;

async function executed(
  read: AskedDocument,
  asked: GraphqlRequest,
  execution: Omit<AskingParts, 'gone' | 'hasLinks'>,
  exchange: Exchange,
  parts: ErrorParts,
): Promise<Result> {
  const { served, gateway } = execution;
  const waiting = new Waiting(exchange, gateway);
  try {
    const asking = new Asking({ ...execution, hasLinks: true, gone: waiting.gone });
    const result = await execute(read, asked, asking, served);
    if (result.data === undefined) throw refused(variableFaults(served, read.operation, asked.variables));
    const answers = asking.notes();
    return {
      ...shownResult(result, served, parts),
      ...(answers !== undefined && { extensions: { answers } }),
    };
  } finally {
    waiting.end();
  }
}

function shownResult(
  { errors, data }: ExecutionResult,
  { library }: ServedSchema,
  parts: ErrorParts,
): Result {
  return { errors: errors === undefined ? undefined : fieldErrors(errors, library, parts), data };
}

function execute(
  { document }: AskedDocument,
  { variables, operationName }: GraphqlRequest,
  asking: Asking,
  { library, schema }: ServedSchema,
) {
  return library.execute({
    schema,
    document,
    operationName: operationName ?? null,
    variableValues: variables,
    fieldResolver: asking.resolve,
    typeResolver: asking.typeOf,
  });
}

/** A GET changes nothing, and an idempotency key names one piece of work. */
function checkMutation(
  { operation }: AskedDocument,
  method: string,
  { idempotencyKey }: Pick<Arrival, 'idempotencyKey'>,
  { library }: ServedSchema,
): void {
  if (operation.operation !== library.OperationTypeNode.MUTATION) return;
  if (method === 'GET') throw new WrongMethod('POST');
  const { selections } = operation.selectionSet;
  if (idempotencyKey === undefined) return;
  if (selections.length === 1 && selections[0]!.kind === library.Kind.FIELD) return;
  const issue = 'needs a document with exactly one field of Mutation, outside of fragments';
  throw new AuditError('INVALID_HEADER', `Idempotency-Key ${issue}.`, {
    details: [{ field: 'Idempotency-Key', issue }],
  });
}

/** Tells the work of a request when nobody waits for it any more, or its time is over. */
class Waiting {
  readonly #leaving = new AbortController();
  readonly #exchange: Exchange;
  readonly #timer: { cancel(): void };
  readonly #leave = () => this.#leaving.abort();

  constructor(exchange: Exchange, { clock }: Gateway) {
    this.#exchange = exchange;
    this.#timer = clock.after(LIMITS.batchRequestTimeoutMs, this.#leave);
    exchange.request.socket.once('close', this.#leave);
  }

  get gone(): AbortSignal {
    return this.#leaving.signal;
  }

  end(): void {
    this.#timer.cancel();
    this.#exchange.request.socket.off('close', this.#leave);
  }
}

class WrongMethod extends AuditError {
  readonly allowed: string;

  constructor(allowed: string) {
    super('ROUTE_NOT_FOUND', `This is asked for by ${allowed.replace(', ', ' or ')}.`);
    this.allowed = allowed;
  }
}

interface Result {
  readonly errors: readonly ShownGraphqlError[] | undefined;
  readonly data?: unknown;
  readonly extensions?: unknown;
}

function replyWith(result: Result, status: number, type: MediaType): Reply {
  return type === EVENTS ? sseReply(result) : jsonReply(result, status, type);
}

function jsonReply(result: Result, status: number, type: MediaType): ErrorReply {
  return {
    status,
    headers: { 'Content-Type': `${type}; charset=utf-8` },
    body: writeJson(result),
    coding: undefined,
  };
}

function replyToError(error: AuditError, place: ErrorPlace, nowMs: number, type: MediaType): ErrorReply {
  const errors = [shown(error, { place, nowMs })];
  const reply = jsonReply({ errors }, statusOf(error), type === EVENTS ? JSON_TYPE : type);
  const allowed = error instanceof WrongMethod ? { Allow: error.allowed } : {};
  return { ...reply, headers: { ...reply.headers, ...errorHeaders(error), ...allowed } };
}

function statusOf(error: AuditError): number {
  if (error instanceof WrongMethod) return 405;
  return error.code === 'VALIDATION_FAILED' ? 400 : REST_STATUS_OF_ERROR[error.code];
}
