// How much a document may ask for. It is measured before it is validated and executed, in one walk that looks into each
// fragment once: what is refused must cost less than what is done.
//
// The cost of a document is the number of fields that its answer would have: each field is one, a list multiplies what is
// below it, a link is an operation.

import type {
  DocumentNode,
  FieldNode,
  FragmentDefinitionNode,
  GraphQLNamedType,
  GraphQLSchema,
  OperationDefinitionNode,
  SelectionSetNode,
  ValueNode,
} from 'graphql';
import { AuditError, LIMITS } from '@tallystick/contract';
import { receivedMember } from '../../call.ts';
import type { ServedSchema } from './schema.ts';

type Variables = Readonly<Record<string, unknown>>;

/** What a list has inside an answer that does not say how many it has. */
const ITEMS = 10;
/** A link, or `relatedEntities`, is an operation of its own. */
const LINK_COST = 20;
/** By `Parent.field` of introspection: how many there are of each. Nothing else is known of their number beforehand. */
const INTROSPECTED: Readonly<Record<string, number>> = {
  '__Schema.types': 300,
  '__Type.fields': 20,
  '__Type.inputFields': 20,
  '__Type.enumValues': 10,
  '__Field.args': 5,
};
const INTROSPECTION_COST_MAX = 2_000_000;

interface Weight {
  readonly cost: number;
  readonly depth: number;
}

const NOTHING: Weight = { cost: 0, depth: 0 };

/** Throws REQUEST_TOO_LARGE, with the limit. */
export function checkLimits(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  served: ServedSchema,
  variables: Variables,
): void {
  const walk = new Walk(document, served, variables);
  const isMutation = operation.operation === served.library.OperationTypeNode.MUTATION;
  check([
    ['fragments', walk.fragmentCount, LIMITS.graphqlFragmentsMax],
    [
      'root fields',
      walk.rootFields(operation.selectionSet),
      isMutation ? LIMITS.graphqlMutationsMax : LIMITS.graphqlFieldsMax,
    ],
  ]);
  const { introspection, rest } = walk.operation(operation);
  check([
    ['aliases', walk.aliases, LIMITS.graphqlAliasesMax],
    ['repeated fields', walk.repeats, LIMITS.graphqlRepeatsMax],
    ['fields inside one another', rest.depth, LIMITS.graphqlDepthMax],
    ['fields of introspection inside one another', introspection.depth, LIMITS.graphqlIntrospectionDepthMax],
    ['cost', rest.cost, LIMITS.graphqlCostMax],
    ['cost of introspection', introspection.cost, INTROSPECTION_COST_MAX],
  ]);
}

function check(limits: readonly (readonly [what: string, count: number, max: number])[]): void {
  for (const [what, count, max] of limits) if (count > max) throw tooMuch(what, count, max);
}

function tooMuch(what: string, count: number, max: number): AuditError {
  const issue = `asks for too much: ${what} ${count}; the limit is ${max}`;
  return new AuditError('REQUEST_TOO_LARGE', `The document ${issue}.`, {
    details: [{ field: 'query', issue }],
  });
}

class Walk {
  readonly #served: ServedSchema;
  readonly #schema: GraphQLSchema;
  readonly #variables: Variables;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** Of fragments; one that is being measured has none yet. */
  readonly #weights = new Map<string, Weight>();
  readonly #roots = new Map<string, number>();
  aliases = 0;
  /** Validation compares each of them with all others of its name. */
  repeats = 0;

  constructor(document: DocumentNode, served: ServedSchema, variables: Variables) {
    this.#served = served;
    this.#schema = served.schema;
    this.#variables = variables;
    this.#fragments = new Map(
      document.definitions.flatMap((each) =>
        each.kind === served.library.Kind.FRAGMENT_DEFINITION ? [[each.name.value, each] as const] : [],
      ),
    );
  }

  get fragmentCount(): number {
    return this.#fragments.size;
  }

  /** Introspection apart from the rest. */
  operation({ operation, selectionSet }: OperationDefinitionNode): { introspection: Weight; rest: Weight } {
    const root = this.#schema.getRootType(operation) ?? undefined;
    const { Kind } = this.#served.library;
    const isOfSchema = (each: SelectionSetNode['selections'][number]) =>
      each.kind === Kind.FIELD && (each.name.value === '__schema' || each.name.value === '__type');
    const among = (selections: SelectionSetNode['selections']) =>
      this.#selected({ kind: Kind.SELECTION_SET, selections }, root, 0);
    return {
      introspection: among(selectionSet.selections.filter(isOfSchema)),
      rest: among(selectionSet.selections.filter((each) => !isOfSchema(each))),
    };
  }

  /** With those in fragments; of a fragment that is spread twice, twice. */
  rootFields(selectionSet: SelectionSetNode): number {
    const { Kind } = this.#served.library;
    let count = 0;
    for (const each of selectionSet.selections) {
      if (each.kind === Kind.FIELD) count += 1;
      else if (each.kind === Kind.INLINE_FRAGMENT) count += this.rootFields(each.selectionSet);
      else count += this.#rootsOf(each.name.value);
    }
    return count;
  }

  #rootsOf(name: string): number {
    const known = this.#roots.get(name);
    if (known !== undefined) return known;
    this.#roots.set(name, 0);
    const fragment = this.#fragments.get(name);
    const count = fragment === undefined ? 0 : this.rootFields(fragment.selectionSet);
    this.#roots.set(name, count);
    return count;
  }

  /** `page`: how many items the connection has that this is selected of. */
  #selected(
    selectionSet: SelectionSetNode,
    parent: GraphQLNamedType | undefined,
    page: number,
    seen = new Set<string>(),
  ): Weight {
    const { Kind } = this.#served.library;
    let cost = 0;
    let depth = 0;
    for (const each of selectionSet.selections) {
      let weight: Weight;
      if (each.kind === Kind.FIELD) {
        const key = (each.alias ?? each.name).value;
        if (seen.has(key)) this.repeats += 1;
        seen.add(key);
        weight = this.#field(each, parent, page);
      } else if (each.kind === Kind.INLINE_FRAGMENT) {
        const name = each.typeCondition?.name.value;
        weight = this.#selected(
          each.selectionSet,
          name === undefined ? parent : this.#schema.getType(name),
          page,
          seen,
        );
      } else weight = this.#fragment(each.name.value, page);
      cost += weight.cost;
      depth = Math.max(depth, weight.depth);
    }
    return { cost, depth };
  }

  #fragment(name: string, page: number): Weight {
    const key = `${name} ${page}`;
    const known = this.#weights.get(key);
    if (known !== undefined) return known;
    const fragment = this.#fragments.get(name);
    if (fragment === undefined) return NOTHING;
    // One that leads back to itself is refused when it is validated.
    this.#weights.set(key, NOTHING);
    const type = this.#schema.getType(fragment.typeCondition.name.value);
    const weight = this.#selected(fragment.selectionSet, type, page);
    this.#weights.set(key, weight);
    return weight;
  }

  #field(node: FieldNode, parent: GraphQLNamedType | undefined, page: number): Weight {
    const { library, links } = this.#served;
    const name = node.name.value;
    if (node.alias !== undefined) this.aliases += 1;
    const own = links.has(`${parent?.name}.${name}`) || name === 'relatedEntities' ? LINK_COST : 1;
    if (node.selectionSet === undefined) return { cost: own, depth: 1 };
    const hasFields = library.isObjectType(parent) || library.isInterfaceType(parent);
    const fields = hasFields ? parent.getFields() : {};
    const type = fields[name]?.type ?? this.#introspected(name);
    const inside = type === undefined ? undefined : library.getNamedType(type);
    const items = this.#pageSize(node, inside) ?? page;
    const { cost, depth } = this.#selected(node.selectionSet, inside, items);
    const isList = type !== undefined && library.isListType(library.getNullableType(type));
    const times = isList ? this.#timesOf(node, parent, page) : 1;
    return { cost: own + times * cost, depth: depth + 1 };
  }

  #introspected(name: string) {
    if (name === '__schema') return this.#schema.getType('__Schema');
    return name === '__type' ? this.#schema.getType('__Type') : undefined;
  }

  #timesOf(node: FieldNode, parent: GraphQLNamedType | undefined, page: number): number {
    if (parent?.name.endsWith('Connection') === true) return page;
    const known = INTROSPECTED[`${parent?.name}.${node.name.value}`];
    if (known !== undefined) return known;
    return parent?.name === 'SearchAnswer' && node.name.value === 'results' ? page : ITEMS;
  }

  /** Undefined where the field is no page. */
  #pageSize(node: FieldNode, type: GraphQLNamedType | undefined): number | undefined {
    const steps =
      PAGE_SIZE_AT[type?.name.endsWith('Connection') === true ? 'Connection' : (type?.name ?? '')];
    if (steps === undefined) return undefined;
    const [name, ...inside] = steps;
    let size = this.#valueOf(node.arguments?.find((each) => each.name.value === name)?.value);
    for (const step of inside) size = receivedMember(size, step);
    return Math.min(
      typeof size === 'number' && size >= 0 ? size : LIMITS.pageSizeDefault,
      LIMITS.pageSizeMax,
    );
  }

  /** As far as a size of a page may stand in it. */
  #valueOf(node: ValueNode | undefined): unknown {
    const { Kind } = this.#served.library;
    if (node?.kind === Kind.VARIABLE) return this.#variables[node.name.value];
    if (node?.kind !== Kind.OBJECT) return node?.kind === Kind.INT ? Number(node.value) : undefined;
    const paging = node.fields.filter(({ name }) => name.value === 'pagination' || name.value === 'limit');
    return Object.fromEntries(paging.map(({ name, value }) => [name.value, this.#valueOf(value)]));
  }
}

/** By the type of a page: the steps to its size, from the name of an argument. */
const PAGE_SIZE_AT: Readonly<Record<string, readonly string[]>> = {
  Connection: ['first'],
  SearchAnswer: ['search', 'pagination', 'limit'],
};
