// One request while it is executed: each root field and each link is one operation through the gateway. Reads that ask for
// the same are one read, however often a document asks.

import type { GraphQLFieldResolver, GraphQLResolveInfo, SelectionSetNode } from 'graphql';
import { asJson, AuditError, LIMITS, type OperationName } from '@tallystick/contract';
import { BY_SELECTION, type GraphqlLink } from '@tallystick/contract/graphql';
import { canonicalJson } from '@tallystick/evidence';
import { type Arrival, type Entered, type Gateway, passThrough } from '../../gateway/pipeline.ts';
import type { AnyAnswer } from '../../operations.ts';
import { Turns } from '../../runtime/turns.ts';
import type { BodyParts } from '../input/json-body.ts';
import { receiveMessage } from '../input/message-input.ts';
import { Connection, type Page } from './connection.ts';
import type { OperationField, ServedSchema } from './schema.ts';

export interface AskingParts {
  readonly served: ServedSchema;
  readonly gateway: Gateway;
  readonly bodies: BodyParts;
  readonly entered: Entered;
  /** Aborts when nobody waits any more, or the time of the whole request is over. */
  readonly gone: AbortSignal;
  /** False in a tail: whether its caller may still come in is judged page by page, not for each link. */
  readonly hasLinks: boolean;
  /** Of the request, for each of its operations. */
  readonly arrival: Pick<
    Arrival,
    'credentials' | 'tenant' | 'idempotencyKey' | 'correlation' | 'sender' | 'path' | 'version'
  >;
}

/** What an answer says of itself. */
interface AnswerNote {
  readonly kind: AnyAnswer['kind'];
  readonly etag?: string;
}

type Arguments = Readonly<Record<string, unknown>>;
type Source = Readonly<Record<string, unknown>>;

export class Asking {
  readonly #parts: AskingParts;
  readonly #turns = new Turns(LIMITS.graphqlOperationsAtOnceMax);
  /** Reads by what they ask for. */
  readonly #reads = new Map<string, Promise<AnyAnswer>>();
  readonly #etags = new WeakMap<object, string>();
  readonly #notes: Record<string, AnswerNote> = {};
  #fields = 0;

  constructor(parts: AskingParts) {
    this.#parts = parts;
  }

  /** By response key; only what the body does not say. */
  notes(): Readonly<Record<string, AnswerNote>> | undefined {
    return Object.keys(this.#notes).length === 0 ? undefined : this.#notes;
  }

  readonly resolve: GraphQLFieldResolver<unknown, unknown> = (source, args: Arguments, _, info) => {
    if (info.path.prev === undefined) return this.#root(args, info);
    this.#countField();
    const parent = source as Source;
    const { fieldName, parentType } = info;
    const value = parent[fieldName];
    if (value !== undefined) return value;
    if (fieldName === 'etag') return this.#etagOf(parent);
    const link = this.#parts.served.links.get(`${parentType.name}.${fieldName}`);
    if (link !== undefined) return this.#link(link, parent);
    const isOfEvent = fieldName === 'relatedEntities' && parentType.name === 'AuditEvent';
    return isOfEvent ? this.#relatedEntities(parent) : undefined;
  };

  readonly typeOf = (value: unknown, _: unknown, __: unknown, { name }: { readonly name: string }) =>
    this.#parts.served.typeOf(name, value as object);

  #countField(): void {
    this.#fields += 1;
    if (this.#fields === LIMITS.graphqlAnswerFieldsMax + 1) {
      const message = `The answer has more than ${LIMITS.graphqlAnswerFieldsMax} fields; ask for less at a time.`;
      this.#tooLarge = new AuditError('REQUEST_TOO_LARGE', message);
    }
    if (this.#tooLarge !== undefined) throw this.#tooLarge;
  }

  #tooLarge: AuditError | undefined;

  async #root(args: Arguments, info: GraphQLResolveInfo): Promise<unknown> {
    const field = this.#parts.served.roots.get(info.fieldName);
    if (field === undefined) throw notServed(info.fieldName);
    const answer = await this.#ask(field, inputOf(field, args, info), info.fieldName);
    const { kind, body, facts } = answer;
    const { etag } = facts ?? {};
    if (kind !== 'Done' || etag !== undefined)
      this.#notes[String(info.path.key)] = { kind, ...(etag !== undefined && { etag }) };
    // A success without a body: that it was done says all.
    if (body === undefined) return true;
    // Bytes are a gap of this protocol, so it is data.
    if (etag !== undefined && body !== null) this.#etags.set(body, etag);
    return field.operation.output.kind === 'List' ? new Connection(body as unknown as Page) : body;
  }

  async #link({ operation, input }: GraphqlLink, parent: Source): Promise<unknown> {
    const asked = Object.entries(input).map(([member, from]) => [member, parent[from]]);
    // A parent that names nothing, such as the default retention, leads nowhere.
    if (asked.some(([, value]) => value === undefined || value === null)) return null;
    const answer = await this.#read(operation, Object.fromEntries(asked) as Arguments);
    return answer.body;
  }

  /** Of an event in a list: as it is asked for alone. */
  async #relatedEntities({ eventId }: Source): Promise<unknown> {
    const { body } = await this.#read('events.get', { eventId, includeRelatedEntities: true });
    return (body as Source | undefined)?.['relatedEntities'];
  }

  #read(name: OperationName, input: Arguments): Promise<AnyAnswer> {
    if (!this.#parts.hasLinks)
      throw new AuditError('VALIDATION_FAILED', 'A tail has no links: ask for them by a query.');
    const field = this.#parts.served.byOperation.get(name);
    return field === undefined ? Promise.reject(notServed(name)) : this.#ask(field, input, name);
  }

  #etagOf(source: Source): string | undefined {
    const { version } = source;
    return this.#etags.get(source) ?? (typeof version === 'number' ? `"${version}"` : undefined);
  }

  #ask(field: OperationField, input: Arguments, name: string): Promise<AnyAnswer> {
    const begin = () => this.#turns.take(() => this.#passThrough(field, input, name));
    if (!field.isQuery) return begin();
    const asked = `${field.operation.name} ${canonicalJson(input)}`;
    const known = this.#reads.get(asked) ?? begin();
    this.#reads.set(asked, known);
    return known;
  }

  #passThrough({ operation, binding }: OperationField, input: Arguments, name: string): Promise<AnyAnswer> {
    const { gateway, bodies, entered, arrival, gone } = this.#parts;
    if (gone.aborted)
      throw new AuditError('SERVICE_UNAVAILABLE', 'The request took too long, or nobody waits.');
    const { [binding.bodyMember ?? '']: body, ...members } = input;
    const sent = {
      members,
      body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
      address: `${arrival.path} ${name}`,
    };
    const isKeyed = operation.idempotency === 'Key' && arrival.idempotencyKey !== undefined;
    const addressed = members['tenantId'];
    return passThrough(
      {
        ...arrival,
        operation,
        entered,
        // A write that has begun is finished.
        ...(operation.effect === 'Read' && { gone }),
        addressedTenant: typeof addressed === 'string' ? addressed : undefined,
        receive: (sender) => receiveMessage(binding, sent, sender, isKeyed, bodies),
      },
      gateway,
    );
  }
}

function notServed(name: string): AuditError {
  return new AuditError('ROUTE_NOT_FOUND', `${name} is not served here.`);
}

/** The arguments as the operation calls them. */
function inputOf({ operation }: OperationField, args: Arguments, info: GraphQLResolveInfo): Arguments {
  const { first, after, before, ...others } = args;
  if (isThere(after) && isThere(before)) {
    const details = [{ field: 'before', issue: 'cannot be sent together with after' }];
    throw new AuditError('VALIDATION_FAILED', 'before cannot be sent together with after.', { details });
  }
  const paging = operation.output.kind === 'List' ? { limit: first, cursor: after ?? before } : {};
  const selected = Object.entries(BY_SELECTION).filter(
    ([member, field]) =>
      member in asJson(operation.input).properties! &&
      info.fieldNodes.some((node) => selects(node.selectionSet, field, info)),
  );
  return withoutAbsent({
    ...others,
    ...paging,
    ...Object.fromEntries(selected.map(([member]) => [member, true])),
  });
}

const isThere = (value: unknown): boolean => value !== undefined && value !== null;

function withoutAbsent(input: Arguments): Arguments {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => isThere(value)));
}

/** Also in fragments, which lead back to themselves in no document that is valid. */
function selects(set: SelectionSetNode | undefined, name: string, info: GraphQLResolveInfo): boolean {
  return (set?.selections ?? []).some((each) => {
    // Only a field has arguments, and only a spread no selections.
    if ('arguments' in each) return each.name.value === name;
    if ('selectionSet' in each) return selects(each.selectionSet, name, info);
    return selects(info.fragments[each.name.value]?.selectionSet, name, info);
  });
}
