// The input of an operation, gathered from where the contract's binding says its members travel: path, headers,
// query, body. Nothing is validated here, except that no query parameter goes unread.

import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  asJson,
  AuditError,
  holdsGuarded,
  type JsonSchema,
  type Operation,
  type OperationName,
  outputSchema,
  placeholders,
  placeOf,
} from '@tallystick/contract';
import type { InputPlace, Received, UnknownParameters } from '../../call.ts';
import { messageFor, unknownParameters } from '../../gateway/violations.ts';
import { bodyLimits } from '../input/body-limits.ts';
import { spelledIdentifier } from '../input/identifiers.ts';
import { type BodyLimits, type BodyParts, type JsonBody, readJson } from '../input/json-body.ts';
import { type HeaderTemplate, headerTemplates } from './answer-headers.ts';
import type { QueryParameters } from '../http/query.ts';

/** Names one of the version readers, so every operation takes it. */
export const VERSION_PARAMETER = 'api-version';

/** An operation's binding, taken apart once instead of for each request. */
export interface InputBinding {
  readonly operation: Operation<OperationName>;
  readonly inQuery: ReadonlyMap<string, JsonSchema>;
  readonly inPath: readonly string[];
  /** Input member → the header it travels in, as Node names it. */
  readonly inHeaders: readonly (readonly [member: string, header: string])[];
  readonly body: BodyLimits;
  readonly placeOf: (member: string) => InputPlace;
  readonly answerHeaders: readonly HeaderTemplate[];
  /** An answer may show what must not be guessed from its length. */
  readonly isGuarded: boolean;
}

export function prepareBinding(operation: Operation<OperationName>): InputBinding {
  const members = Object.entries(operation.input.properties);
  const shown = outputSchema(operation);
  return {
    operation,
    inQuery: new Map(
      members
        .filter(([name]) => placeOf(operation, name) === 'Query')
        .map(([name, part]) => [name, asJson(part)]),
    ),
    inPath: placeholders(operation.rest.path),
    inHeaders: Object.entries(operation.rest.headers ?? {}).map(([member, name]) => [
      member,
      name.toLowerCase(),
    ]),
    placeOf: (member) => placeOf(operation, member),
    answerHeaders: headerTemplates(operation),
    isGuarded: shown !== undefined && holdsGuarded(asJson(shown)),
    body: bodyLimits(operation),
  };
}

export interface RequestParts {
  readonly request: IncomingMessage;
  readonly path: string;
  readonly query: QueryParameters;
  readonly parameters: Readonly<Record<string, string | undefined>>;
  readonly sender: string;
  readonly onSent: (spanNs: number) => void;
}

/** Fills `input`; with the body last, at once where all of it is there. */
export function receive(
  binding: InputBinding,
  parts: RequestParts,
  input: Record<string, unknown>,
  bodies: BodyParts,
): Received | Promise<Received> {
  const { operation } = binding;
  const { body: bodyMember } = operation.rest;
  for (const name of binding.inPath) {
    const text = parts.parameters[name] ?? parts.parameters['*'];
    input[name] = spelledIdentifier(asJson(operation.input.properties[name]!), text);
  }
  for (const [member, name] of binding.inHeaders) {
    const value = parts.request.headers[name];
    if (value !== undefined) input[member] = value;
  }
  const isKeyed = operation.idempotency === 'Key' && parts.request.headers['idempotency-key'] !== undefined;
  const unknown = readQuery(binding, parts.query, input);
  if (bodyMember === undefined) {
    const strange = unknown === undefined ? {} : { unknownParameters: unknown };
    const fingerprinted = isKeyed ? fingerprintedOf(parts.path, undefined) : undefined;
    return { input, ...NO_BODY, fingerprinted, ...strange, placeOf: binding.placeOf };
  }
  if (unknown !== undefined) throw unknownParameter(unknown);
  const take = (body: JsonBody | undefined): Received => {
    takeBody(operation, bodyMember, body?.value, input);
    const { violations, unlisted, text } = body ?? NO_BODY;
    const fingerprinted = isKeyed ? fingerprintedOf(parts.path, body?.digest) : undefined;
    return { input, violations, unlisted, text, fingerprinted, placeOf: binding.placeOf };
  };
  const body = readJson(parts, binding.body, isKeyed, bodies);
  return body instanceof Promise ? body.then(take) : take(body);
}

const NO_BODY = { violations: [], unlisted: 0, text: undefined } as const;

/** The path and the digest of the body as sent; without a body, that of `null`. Stores keep fingerprints of it for a day. */
function fingerprintedOf(path: string, digest: Uint8Array | undefined): Received['fingerprinted'] {
  return [path, '\n', digest ?? hash('sha256', 'null', 'buffer')];
}

/** Gives the parameters that the operation does not have; undefined where there are none. */
function readQuery(
  { inQuery }: InputBinding,
  query: QueryParameters,
  input: Record<string, unknown>,
): UnknownParameters | undefined {
  const unknown: string[] = [];
  for (const [name, texts] of query) {
    const schema = inQuery.get(name);
    if (schema !== undefined) input[name] = fromText(schema, texts);
    else if (name !== VERSION_PARAMETER) unknown.push(name);
  }
  if (unknown.length === 0) return undefined;
  return { names: unknown, known: [...inQuery.keys(), VERSION_PARAMETER] };
}

/** Where a body follows: nobody reads it for a request that is refused all the same. */
function unknownParameter(unknown: UnknownParameters): AuditError {
  const details = unknownParameters(unknown);
  return new AuditError('INVALID_PARAMETER', messageFor(details), { details });
}

const WHOLE = /^(?:0|-?[1-9]\d{0,14})$/;
const FRACTION = /^(?!-0$)-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/;

/**
 * Text becomes what the schema asks for where it can; where it cannot, it stays text and validation says so. A whole
 * number has one spelling, without plus sign and leading zeros, so that no two questions that look different are one.
 */
function fromText(schema: JsonSchema, texts: readonly string[]): unknown {
  if (schema.type === 'array') {
    const items = schema.items ?? {};
    return texts.flatMap((text) => text.split(',')).map((text) => fromText(items, [text]));
  }
  if (texts.length > 1) return texts;
  const [text = ''] = texts;
  if (schema.type === 'integer' && WHOLE.test(text)) return Number(text);
  if (schema.type === 'number' && FRACTION.test(text)) return Number(text);
  if (schema.type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

function takeBody(
  operation: Operation<OperationName>,
  member: string,
  value: unknown,
  input: Record<string, unknown>,
): void {
  if (value !== undefined) input[member] = value;
  else if (operation.input.required?.includes(member)) {
    throw new AuditError('MALFORMED_JSON', 'The body is empty; this operation needs one.');
  }
}
