// An operation is one thing a caller may ask, in any protocol: one name, one input object, one output.
//
// How one operation reaches five protocols, and callers in TypeScript:
// - REST: `rest` says where each top-level member of the input travels. Placeholders of the path come first, then
//   the headers and the body named here; every other member is a query parameter. An array in the query is
//   comma-separated or repeated. Identifiers in a path are read without regard to case.
// - GraphQL: `Read` is a field of Query, `Write` one of Mutation, and so is a `Read` that honours a key; members are
//   arguments, a list is a connection.
// - gRPC: one service per noun, one method per verb; the input is the request message, the output the reply.
// - SOAP: one operation each; the input is the request element, the output the response element.
// - MCP: one tool each; the input schema is the tool's, `summary` its description, `Read` its readOnlyHint.
// - SDK: `client.events.ingest(input)`, typed by InputOf and OutputOf; a list is also an async iterator.
// Tenant, caller, correlation id, idempotency key and version belong to the call, not to the input: each protocol
// has its own place for them (headers, metadata, SOAP headers). Kinds of answer become statuses in REST only.

import type { Static, TObject, TProperties, TSchema } from 'typebox';
import type { AnswerKind, ByteAnswer } from './answer.ts';
import type { ErrorCode } from './errors.ts';
import type { AnswerHeader } from './headers.ts';
import type { Permission } from './permissions.ts';
import type { Version } from './schema.ts';
import type { Page } from './schemas/list.ts';
import { Type } from './type.ts';

export const PROTOCOLS = ['rest', 'graphql', 'grpc', 'soap', 'mcp'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** Json: an object. List: a page of items. Bytes: a file or a text of its own format. None: success says it all. */
export type Output<S extends TSchema = TSchema> =
  | { readonly kind: 'Json'; readonly schema: S }
  | { readonly kind: 'List'; readonly item: S }
  | { readonly kind: 'Bytes'; readonly mediaTypes: readonly string[] }
  | { readonly kind: 'None' };

export const json = <S extends TSchema>(schema: S) => ({ kind: 'Json', schema }) as const;
export const list = <S extends TSchema>(item: S) => ({ kind: 'List', item }) as const;
export const bytes = (...mediaTypes: readonly string[]) => ({ kind: 'Bytes', mediaTypes }) as const;
export const none = { kind: 'None' } as const;

export interface RestBinding {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the version's prefix (`/api/v1`); below the host itself when `atRoot`. `{name+}` spans segments. */
  readonly path: `/${string}`;
  readonly atRoot?: true;
  /** Input member → the request header it travels in. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The input member that is the body. An optional member is an optional body. */
  readonly body?: string;
  /**
   * Answer header → its text. `{name}` is filled from the body, the facts of the answer or the input; a header
   * whose name has no value is left out. A text that begins with `/` is below the version's prefix.
   */
  readonly answerHeaders?: Readonly<Partial<Record<AnswerHeader, string>>>;
  /** Other renderings of the same answer, by media type, for callers that ask by `Accept`. */
  readonly alsoAs?: Readonly<Record<string, string>>;
}

/** Where the tenant comes from: the call; the call, though the operation reaches beyond it; the address of the request; nowhere. */
export type TenantSource = 'Call' | 'Named' | 'Addressed' | 'None';

interface OperationFacts {
  /** One line, imperative: OpenAPI summary, GraphQL description, MCP tool description. */
  readonly summary: string;
  /** Whether anything changes. Decides query or mutation, readOnlyHint, and what a sunset version refuses. */
  readonly effect: 'Read' | 'Write';
  /** Key: honours an idempotency key. So does, unsaid, every POST and PUT that writes. */
  readonly idempotency?: 'Key' | 'None';
  /** Null: no credential is needed, and one that is sent is ignored. */
  readonly permission: Permission | null;
  /** A link that was signed by the service opens it too, without a credential. */
  readonly signedLink?: true;
  readonly tenant?: TenantSource;
  /** Counts against the tenant's ingestion rate. */
  readonly rated?: true;
  readonly bodyBytesMax?: number;
  readonly timeout?: { readonly ms: number; readonly error: ErrorCode };
  /** Errors of its own; `errorsOf` adds those that follow from its form. */
  readonly errors?: readonly ErrorCode[];
  readonly rest: RestBinding;
  readonly addedIn?: Version;
  /** Protocols that do not offer it, each with the reason. */
  readonly gaps?: Readonly<Partial<Record<Exclude<Protocol, 'rest'>, string>>>;
}

/** An operation as it is written down. */
export interface OperationSpec<
  Name extends string = string,
  Input extends TProperties = TProperties,
  Out extends Output = Output,
  Kinds extends AnswerKind = AnswerKind,
> extends OperationFacts {
  readonly name: Name;
  readonly input: Input;
  readonly output: Out;
  /** How it can succeed, each with what that means here. */
  readonly answers: Readonly<Record<Kinds, string>>;
}

/** An operation as it is read: with what follows from its spec made explicit. */
export interface Operation<
  Name extends string = string,
  Input extends TProperties = TProperties,
  Out extends Output = Output,
  Kinds extends AnswerKind = AnswerKind,
> extends OperationFacts {
  readonly name: Name;
  readonly tenant: TenantSource;
  readonly idempotency: 'Key' | 'None';
  readonly input: TObject<Input>;
  readonly output: Out;
  readonly answers: Readonly<Partial<Record<Kinds, string>>>;
  readonly errors: readonly ErrorCode[];
}

export function operation<
  const Name extends string,
  Input extends TProperties,
  Out extends Output,
  Kinds extends AnswerKind,
>(spec: OperationSpec<Name, Input, Out, Kinds>): Operation<Name, Input, Out, Kinds> {
  const isKeyed = spec.effect === 'Write' && (spec.rest.method === 'POST' || spec.rest.method === 'PUT');
  return {
    ...spec,
    tenant: spec.tenant ?? 'Call',
    idempotency: spec.idempotency ?? (isKeyed ? 'Key' : 'None'),
    input: Type.Object(spec.input, { title: `${pascalName(spec.name)}Input`, additionalProperties: false }),
    errors: spec.errors ?? [],
  };
}

/** Answer headers of a representation that its reader may keep, and must ask for again each time. */
export const REVALIDATED = { ETag: '{etag}', 'Cache-Control': 'private, no-cache' } as const;

/** Offered by REST alone, for this reason. */
export const restOnly = (reason: string) => ({ graphql: reason, grpc: reason, soap: reason, mcp: reason });

/** `events.ingestBatch` → `EventsIngestBatch`: the stem of message and type names. */
export function pascalName(name: string): string {
  return name.replace(/(?:^|\.)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The value of a valid input. */
export type InputValue<O> = O extends { readonly input: infer Input extends TSchema } ? Static<Input> : never;

/** The value of an output. */
export type OutputValue<O> = O extends { readonly output: infer Out }
  ? Out extends { readonly kind: 'Json'; readonly schema: infer S extends TSchema }
    ? Static<S>
    : Out extends { readonly kind: 'List'; readonly item: infer S extends TSchema }
      ? Page<Static<S>>
      : Out extends { readonly kind: 'Bytes' }
        ? ByteAnswer
        : undefined
  : never;
