// The contract's schemas as OpenAPI 3.0 writes them: what has a title becomes a component and is referred to; `const`, unions with
// null and the contract's own marks are put in the words that OpenAPI has.

import type { JsonSchema } from '../schema.ts';

/** A schema, or a reference to one, as the document has it. */
export type OpenApiSchema = Readonly<Record<string, unknown>>;

export class OpenApiSchemas {
  readonly #components = new Map<string, OpenApiSchema>();
  readonly #examples: Readonly<Record<string, unknown>>;

  constructor(examples: Readonly<Record<string, unknown>>) {
    this.#examples = examples;
  }

  /** The schema at a place where it is used; its components are collected. */
  at(schema: JsonSchema): OpenApiSchema {
    const { title } = schema;
    if (title === undefined) return this.#content(schema);
    this.#collect(title, schema);
    const $ref = referenceTo(title);
    // Beside `$ref` nothing else counts, so what is said of this place goes around it.
    const here = {
      ...(schema['x-use'] !== undefined && { description: schema['x-use'] }),
      ...(schema.default !== undefined && { default: schema.default }),
    };
    return Object.keys(here).length === 0 ? { $ref } : { ...here, allOf: [{ $ref }] };
  }

  components(): Record<string, OpenApiSchema> {
    return Object.fromEntries([...this.#components].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #collect(title: string, schema: JsonSchema): void {
    if (this.#components.has(title)) return;
    // Its place first: what is inside may lead back here.
    this.#components.set(title, {});
    const { default: _, ...itself } = schema;
    const example = this.#examples[title];
    this.#components.set(title, { ...this.#content(itself), ...(example !== undefined && { example }) });
  }

  #content(schema: JsonSchema): OpenApiSchema {
    const nullable = withoutNull(schema);
    if (nullable !== undefined) return this.#orNull(nullable, schema);
    const { properties, items, additionalProperties, anyOf, oneOf, discriminator, ...others } = schema;
    return {
      ...plain(others),
      ...(properties && { properties: mapValues(properties, (member) => this.at(member)) }),
      ...(items && { items: this.at(items) }),
      ...(additionalProperties !== undefined && {
        additionalProperties:
          typeof additionalProperties === 'object' ? this.at(additionalProperties) : additionalProperties,
      }),
      ...(anyOf && { anyOf: anyOf.map((branch) => this.at(branch)) }),
      ...(oneOf && { oneOf: oneOf.map((branch) => this.at(branch)) }),
      ...(discriminator && { discriminator: { ...discriminator, mapping: mappingOf(schema) } }),
    };
  }

  /** `nullable` counts only beside a `type`. */
  #orNull(schema: JsonSchema, around: JsonSchema): OpenApiSchema {
    const described = around.description ?? schema['x-use'];
    const here = {
      ...(described !== undefined && { description: described }),
      ...(around.default !== undefined && { default: around.default }),
    };
    const inner = this.at(schema);
    if (!('$ref' in inner) && !('allOf' in inner)) return { ...inner, ...here, nullable: true };
    const allOf = '$ref' in inner ? [inner] : inner['allOf'];
    return { ...(schema.type !== undefined && { type: schema.type }), ...here, nullable: true, allOf };
  }
}

export const referenceTo = (title: string): string => `#/components/schemas/${title}`;

/** The other branch of a union with null. */
function withoutNull({ anyOf }: JsonSchema): JsonSchema | undefined {
  if (anyOf?.length !== 2) return undefined;
  const [other, ...more] = anyOf.filter(({ type }) => type !== 'null');
  return more.length === 0 ? other : undefined;
}

/** The keywords without those inside of which other schemas are, and without marks. */
function plain(schema: JsonSchema): Record<string, unknown> {
  const { title: _, const: only, 'x-use': use, 'x-expected': expected, ...others } = schema;
  const sentences = [others.description ?? use, expected === undefined ? undefined : `Must be ${expected}.`];
  const description = sentences.filter((each) => each !== undefined).join(' ');
  const kept = Object.entries(others).filter(
    ([keyword, value]) => !keyword.startsWith('x-') && value !== undefined,
  );
  return {
    ...Object.fromEntries(kept),
    ...(only !== undefined && { enum: [only] }),
    ...(description !== '' && { description }),
  };
}

/** Which value of the tag stands for which component. */
function mappingOf({ discriminator, oneOf = [] }: JsonSchema): Record<string, string> {
  const tag = discriminator?.propertyName ?? '';
  return Object.fromEntries(
    oneOf.map((branch) => [branch.properties?.[tag]?.const, referenceTo(branch.title ?? '')]),
  );
}

const mapValues = <V, W>(table: Readonly<Record<string, V>>, to: (value: V) => W): Record<string, W> =>
  Object.fromEntries(Object.entries(table).map(([name, value]) => [name, to(value)]));
