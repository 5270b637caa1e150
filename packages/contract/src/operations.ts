// The one list of all operations, typed so that a name leads to its input and output:
// `InputOf<'events.ingest'>`, `OutputOf<'events.list'>`. What follows from an operation's form is computed here.

import type { TSchema } from 'typebox';
import type { AnswerFacts, AnswerKind, Renderings } from './answer.ts';
import {
  BODY_ERRORS,
  COMMON_ERRORS,
  CREDENTIAL_ERRORS,
  CURSOR_ERRORS,
  ERROR_CODES,
  TENANT_ERRORS,
} from './errors.ts';
import type { ErrorCode } from './errors.ts';
import { PROTOCOLS } from './operation.ts';
import type { InputValue, Operation, OutputValue, Protocol } from './operation.ts';
import { ADMIN_OPERATIONS } from './operations/admin.ts';
import { EVENT_OPERATIONS } from './operations/events.ts';
import { EXPORT_SCHEDULE_OPERATIONS } from './operations/export-schedules.ts';
import { EXPORT_OPERATIONS } from './operations/exports.ts';
import { HEALTH_OPERATIONS } from './operations/health.ts';
import { POLICY_OPERATIONS } from './operations/policies.ts';
import { STREAM_OPERATIONS } from './operations/streams.ts';
import { WEBHOOK_OPERATIONS } from './operations/webhooks.ts';
import { asJson } from './schema.ts';
import type { Version } from './schema.ts';
import { everySchema, forVersion, isIn } from './schema-walk.ts';
import { ListOf, PageOf } from './schemas/list.ts';
import { entriesOf } from './typed-object.ts';

export const OPERATION_GROUPS = {
  Events: EVENT_OPERATIONS,
  'Streams and proofs': STREAM_OPERATIONS,
  'Policies and holds': POLICY_OPERATIONS,
  Exports: [...EXPORT_OPERATIONS, ...EXPORT_SCHEDULE_OPERATIONS],
  Webhooks: WEBHOOK_OPERATIONS,
  Administration: ADMIN_OPERATIONS,
  Health: HEALTH_OPERATIONS,
} as const;

type Any = (typeof OPERATION_GROUPS)[keyof typeof OPERATION_GROUPS][number];
type ByName = { readonly [O in Any as O['name']]: O };

export type OperationName = keyof ByName;
export type OperationNamed<N extends OperationName> = ByName[N];
export type InputOf<N extends OperationName> = InputValue<ByName[N]>;
export type OutputOf<N extends OperationName> = OutputValue<ByName[N]>;
export type AnswerKindOf<N extends OperationName> = Extract<keyof ByName[N]['answers'], AnswerKind>;

/** The result of the function behind an operation. A repeat by key is the gateway's own answer. */
export interface Answer<N extends OperationName> {
  readonly kind: AnswerKindOf<N>;
  readonly body: OutputOf<N>;
  readonly facts?: AnswerFacts;
  /** There when the binding has `alsoAs`. */
  readonly alsoAs?: Renderings;
  /** It shows what must not be guessed from its length. */
  readonly isGuarded?: boolean;
}

export const OPERATIONS: readonly Operation<OperationName>[] = Object.values(OPERATION_GROUPS).flat();

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- names and operations come in pairs
const byName = Object.fromEntries(OPERATIONS.map((each) => [each.name, each])) as unknown as ByName;

export function operationNamed<N extends OperationName>(name: N): OperationNamed<N> {
  return byName[name];
}

/** The operations that a version has, with their schemas as that version has them. */
export function operationsIn(version: Version): Operation<OperationName>[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- with fewer members it is of the same kind
  const cut = <S extends TSchema>(schema: S): S => forVersion(version, asJson(schema)) as unknown as S;
  return OPERATIONS.filter((each) => isIn(version, each.addedIn)).map((each) => {
    const { output } = each;
    const input = cut(each.input);
    if (output.kind === 'Json') return { ...each, input, output: { ...output, schema: cut(output.schema) } };
    if (output.kind === 'List') return { ...each, input, output: { ...output, item: cut(output.item) } };
    return { ...each, input };
  });
}

/** The schema of the output, for protocols that carry it as it is; undefined where it is no data. */
export function outputSchema({ output }: Operation): TSchema | undefined {
  if (output.kind === 'Json') return output.schema;
  return output.kind === 'List' ? PageOf(output.item) : undefined;
}

/** The schema of the REST body: the output, a list in its envelope with links. */
export function restBodySchema({ output }: Operation): TSchema | undefined {
  if (output.kind === 'Json') return output.schema;
  return output.kind === 'List' ? ListOf(output.item) : undefined;
}

/** The placeholders of a path template, in order: `/a/{x}/{y+}` has x and y. */
export const placeholders = (template: string): string[] =>
  [...template.matchAll(/\{(\w+)\+?\}/g)].map((match) => match[1]!);

/** Where a member of the input travels in REST. */
export function placeOf({ rest }: Operation, member: string): 'Path' | 'Header' | 'Body' | 'Query' {
  if (placeholders(rest.path).includes(member)) return 'Path';
  if (rest.headers && Object.hasOwn(rest.headers, member)) return 'Header';
  return rest.body === member ? 'Body' : 'Query';
}

/** Whether it is about something that must be there already, named by an identifier. */
export function namesWhatIsThere({ rest }: Operation): boolean {
  return placeholders(rest.path).length > 0;
}

/** Whether a protocol offers the operation. SOAP has the first version only. */
export function isOffered({ gaps, addedIn }: Operation, protocol: Protocol): boolean {
  if (protocol === 'rest') return true;
  return gaps?.[protocol] === undefined && !(protocol === 'soap' && addedIn !== undefined);
}

/** Every protocol that lacks the operation, with the reason. */
export function gapsOf(each: Operation): [Protocol, string][] {
  return PROTOCOLS.flatMap((protocol) => {
    const reason = protocol === 'rest' ? undefined : each.gaps?.[protocol];
    return reason === undefined ? [] : [[protocol, reason] as [Protocol, string]];
  });
}

/** How the operation can be answered: its own kinds, a repeat by key, and what conditional reading adds. */
export function answersOf(each: Operation): [AnswerKind, string][] {
  const kinds = new Map(entriesOf(each.answers));
  if (each.idempotency === 'Key' && !kinds.has('Repeated'))
    kinds.set('Repeated', 'Recognised by its key: the first answer again.');
  if (each.effect === 'Read' && each.rest.answerHeaders?.ETag)
    kinds.set('Unchanged', 'The caller has this version.');
  return [...kinds];
}

/** Every error that the operation may answer once it is found, in the order of the catalogue. */
export function errorsOf(each: Operation): ErrorCode[] {
  const codes = new Set<ErrorCode>([...COMMON_ERRORS, ...each.errors]);
  const add = (more: readonly ErrorCode[]) => more.forEach((code) => codes.add(code));
  if (each.permission !== null) add(CREDENTIAL_ERRORS);
  if (each.tenant !== 'None') add(TENANT_ERRORS);
  if (each.rest.body !== undefined) add(BODY_ERRORS);
  if (each.effect === 'Write') add(['API_VERSION_SUNSET']);
  // A first write makes the tenant, unless the settings say that only an operator does.
  if (each.effect === 'Write' && each.tenant === 'Call') add(['TENANT_NOT_FOUND']);
  if (each.idempotency === 'Key') add(['IDEMPOTENCY_KEY_REUSED']);
  if (each.rest.headers?.['ifMatch'] !== undefined) add(['VERSION_CONFLICT']);
  if (each.timeout) add([each.timeout.error]);
  for (const [, schema] of everySchema(asJson(each.input))) {
    const code = schema['x-refused-as'];
    if (code !== undefined) add(code === 'CURSOR_INVALID' ? CURSOR_ERRORS : [code]);
  }
  return ERROR_CODES.filter((code) => codes.has(code));
}
