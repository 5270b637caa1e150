// The services of a version over gRPC: a service for each noun, a method for each operation that is offered, with the
// plans of its request and its response.

import { grpcName, grpcPackage, grpcPath } from '../names/grpc.ts';
import type { Operation } from '../operation.ts';
import { isOffered, OPERATIONS, operationsIn, outputSchema } from '../operations.ts';
import type { OperationName } from '../operations.ts';
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
  return { version, package: grpcPackage(version), plans, methods };
}

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
