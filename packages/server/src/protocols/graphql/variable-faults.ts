// What is wrong with variables that do not fit their types, in our words and without their values. The library finds out that
// they do not fit; this says why.

import type {
  GraphQLEnumType,
  GraphQLInputType,
  GraphQLScalarType,
  OperationDefinitionNode,
  ValueNode,
} from 'graphql';
import { type ErrorDetail, LIMITS } from '@tallystick/contract';
import type { ServedSchema } from './schema.ts';

type Values = Readonly<Record<string, unknown>>;

const EXPECTED: Readonly<Record<string, string>> = {
  Int: 'a whole number',
  Long: 'a whole number up to 2^53−1',
  Float: 'a number',
  Boolean: 'true or false',
  DateTime: 'an instant as text',
};

export function variableFaults(
  served: ServedSchema,
  operation: OperationDefinitionNode,
  variables: Values,
): ErrorDetail[] {
  const { library, schema } = served;
  const faults: ErrorDetail[] = [];
  const explain = new Explain(served, faults);
  for (const { variable, type: node, defaultValue } of operation.variableDefinitions ?? []) {
    const { value: name } = variable.name;
    const type = library.typeFromAST(schema, node);
    if (!library.isInputType(type) || (variables[name] === undefined && defaultValue !== undefined)) continue;
    explain.value(type, variables[name], placeOf(name, operation, served));
  }
  return faults;
}

/** As the gateway names it: the body of an operation has no name. Undefined where the variable is more than one argument. */
function placeOf(name: string, { selectionSet }: OperationDefinitionNode, served: ServedSchema): string {
  const isIt = (value: ValueNode) => value.kind === served.library.Kind.VARIABLE && value.name.value === name;
  for (const field of selectionSet.selections) {
    if (field.kind !== served.library.Kind.FIELD) continue;
    const argument = field.arguments?.find(({ value }) => isIt(value));
    if (argument === undefined) continue;
    const isBody = argument.name.value === served.roots.get(field.name.value)?.binding.bodyMember;
    return isBody ? '' : argument.name.value;
  }
  return `variables.${name}`;
}

class Explain {
  readonly #served: ServedSchema;
  readonly #faults: ErrorDetail[];

  constructor(served: ServedSchema, faults: ErrorDetail[]) {
    this.#served = served;
    this.#faults = faults;
  }

  value(type: GraphQLInputType, value: unknown, field: string): void {
    const { library } = this.#served;
    if (this.#faults.length >= LIMITS.errorDetailsMax) return;
    const isAbsent = value === undefined || value === null;
    if (library.isNonNullType(type)) {
      if (isAbsent) this.#add(field, 'is required');
      else this.value(type.ofType, value, field);
      return;
    }
    if (isAbsent) return;
    if (library.isListType(type)) {
      const items: readonly unknown[] = Array.isArray(value) ? value : [value];
      items.forEach((item, i) =>
        this.value(type.ofType, item, Array.isArray(value) ? `${field}[${i}]` : field),
      );
    } else if (library.isInputObjectType(type)) this.#object(type, value, field);
    else this.#leaf(type, value, field);
  }

  #object(type: ReturnType<Graphql['assertInputObjectType']>, value: unknown, field: string): void {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return this.#add(field, 'must be an object');
    const members = type.getFields();
    const at = (name: string) => (field === '' ? name : `${field}.${name}`);
    for (const name of Object.keys(value)) {
      if (!Object.hasOwn(members, name)) this.#add(at(name), 'is not a known field');
    }
    for (const [name, member] of Object.entries(members))
      this.value(member.type, (value as Values)[name], at(name));
  }

  #leaf(type: GraphQLScalarType | GraphQLEnumType, value: unknown, field: string): void {
    try {
      type.parseValue(value);
    } catch {
      this.#add(field, `must be ${EXPECTED[type.name] ?? 'text'}`);
    }
  }

  #add(field: string, issue: string): void {
    if (this.#faults.length < LIMITS.errorDetailsMax) this.#faults.push({ field, issue });
  }
}

type Graphql = ServedSchema['library'];
