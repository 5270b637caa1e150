// The services of a version over gRPC: a service for each noun, a method for each operation that is offered, with the
// plans of its request and its response.

import { grpcName, grpcPackage, grpcPath } from '../names/grpc.ts';
import type { Operation } from '../operation.ts';
import { isOffered, OPERATIONS, operationsIn, outputSchema } from '../operations.ts';
import type { OperationName } from '../operations.ts';
import { componentsOf } from '../schema-walk.ts';
import { asJson, VERSIONS } from '../schema.ts';
import type { JsonSchema, Version } from '../schema.ts';
import { FIELD_NUMBERS } from './field-numbers.ts';
import { FieldNumbers } from './numbers.ts';
import { type MessagePlan, Plans } from './plan.ts';

export interface MethodPlan {
  readonly operation: Operation<OperationName>;
  readonly service: string;
  readonly method: string;
  readonly path: string;
  readonly request: MessagePlan;
  readonly response: MessagePlan;
  /** The field that is the whole body of the answer; undefined where its members are fields themselves. */
  readonly bodyField: string | undefined;
  /** It changes nothing, so it may be asked for by GET. */
  readonly isSafe: boolean;
  /** Which sides send several messages; undefined: neither. */
  readonly streams?: { readonly client: boolean; readonly server: boolean };
}

export interface GrpcInterface {
  readonly version: Version;
  readonly package: string;
  readonly plans: Plans;
  readonly methods: readonly MethodPlan[];
}

/** The entity tag of what is answered, beside it. */
export const ETAG = 'etag';

export function grpcInterface(version: Version, plans = new Plans()): GrpcInterface {
  const offered = operationsIn(version).filter((each) => isOffered(each, 'grpc'));
  const methods = offered.map((each) => methodOf(version, each, plans));
  methods.push(...streamsOf(version, offered, plans));
  return { version, package: grpcPackage(version), plans, methods };
}

const INGEST_STREAM = 'IngestStream';
export const TAIL = 'Tail';

/** What only a protocol with streams has, each made of calls of one operation: batches without end, and a log as it grows. */
function streamsOf(
  version: Version,
  offered: readonly Operation<OperationName>[],
  plans: Plans,
): MethodPlan[] {
  const service = 'EventsService';
  const named = (name: OperationName) => offered.find((each) => each.name === name)!;
  const stream = (
    operation: Operation<OperationName>,
    method: string,
    summary: string,
    [asked, told]: readonly [Members, Members],
    client: boolean,
  ): MethodPlan => ({
    operation: { ...operation, summary },
    service,
    method,
    path: `/${grpcPackage(version)}.${service}/${method}`,
    request: plans.messageOf({ properties: asked }, `${service}${method}Request`),
    response: plans.messageOf({ properties: told }, `${service}${method}Response`),
    bodyField: undefined,
    isSafe: false,
    streams: { client, server: true },
  });
  const batches = named('events.ingestBatch');
  const entries = named('streams.listEvents');
  const sequence = asJson(entries.input).properties?.['fromSequence'];
  const key = {
    type: 'string',
    description: 'Recognises a repeat of this message, as the header does elsewhere.',
  } as const;
  const index = { type: 'integer', description: 'Of the message that this answers, from 0.' } as const;
  const kind = {
    type: 'string',
    description: 'Created, Partial, Rejected or Repeated; absent in an error.',
  } as const;
  const { 'x-use': _, ...error } = componentsOf([outputSchema(batches)!]).get('ErrorInfo')!;
  return [
    stream(
      batches,
      INGEST_STREAM,
      'Store batches for as long as the stream lasts; each message is a batch of its own, answered in order',
      [
        { batch: asJson(batches.input).properties!['batch']!, idempotencyKey: key },
        { index, answer: kind, batchResult: asJson(outputSchema(batches)!), error },
      ],
      true,
    ),
    stream(
      entries,
      TAIL,
      'Read the log from a sequence on, or from its end, and then each new entry as it comes',
      [
        { fromSequence: sequence! },
        { streamEvent: asJson(outputSchema(entries)!).properties!['data']!.items! },
      ],
      false,
    ),
  ];
}

type Members = Readonly<Record<string, JsonSchema>>;

/** The table of numbers with those that new members get, and what it would be written as. */
export function completedNumbers(): FieldNumbers {
  const numbers = new FieldNumbers(FIELD_NUMBERS);
  for (const version of VERSIONS) grpcInterface(version, new Plans(numbers));
  return numbers;
}

function methodOf(version: Version, operation: Operation<OperationName>, plans: Plans): MethodPlan {
  const { service, method } = grpcName(operation.name);
  const request = plans.messageOf(asJson(operation.input), `${service}${method}Request`);
  const { plan: response, bodyField } = responseOf(operation, `${service}${method}Response`, plans);
  const isSafe = operation.effect === 'Read' && operation.idempotency === 'None';
  const path = grpcPath(version, operation.name);
  return { operation, service, method, path, request, response, bodyField, isSafe };
}

function responseOf(operation: Operation<OperationName>, name: string, plans: Plans) {
  const schema = outputSchema(operation);
  const body: JsonSchema = schema === undefined ? {} : asJson(schema);
  const isPage = operation.output.kind === 'List';
  const { title = '' } = body;
  const bodyField =
    schema === undefined || isPage ? undefined : title.slice(0, 1).toLowerCase() + title.slice(1);
  const members: Readonly<Record<string, JsonSchema>> =
    bodyField === undefined ? (body.properties ?? {}) : { [bodyField]: body };
  const isTagged = operation.rest.answerHeaders?.ETag !== undefined && isReplaced(operation.name);
  const tag: JsonSchema = { type: 'string', description: 'Its version, to send as `if_match`.' };
  const properties = { ...members, ...(isTagged && { [ETAG]: tag }) };
  return {
    plan: plans.messageOf({ properties, ...(isPage && { required: body.required ?? [] }) }, name),
    bodyField,
  };
}

/** Whether somebody may have to say which version of the thing they mean. */
function isReplaced(name: string): boolean {
  const noun = name.slice(0, name.indexOf('.') + 1);
  return OPERATIONS.some(
    (each) => each.name.startsWith(noun) && each.rest.headers?.['ifMatch'] !== undefined,
  );
}
