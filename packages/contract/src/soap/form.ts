// How a schema is written as XML. The XML Schema, the reader of requests and the writer of answers are all made from it:
// - Object: a child for each member that is there, in any order when read. Ignored: a member that is dropped unseen.
// - List: a child `item` for each item. Map: a child `entry` with the attribute `key` for each member.
// - Either: one child, named after the branch. Json: JSON as text, where keys and numbers are the caller's own.
// A member that is null has `xsi:nil`; one that is not there has no element.

import { asJson } from '../schema.ts';
import type { JsonSchema } from '../schema.ts';
import { isOffered, operationsIn } from '../operations.ts';
import type { OperationName } from '../operations.ts';
import { soapName } from '../names/soap.ts';
import type { Operation } from '../operation.ts';
import { Pagination } from '../schemas/list.ts';

export const SOAP_NAMESPACE = 'urn:tallystick:v1';
/** What was added to the interface later is in no namespace of SOAP. */
export const SOAP_VERSION = 'v1';

export type XmlType =
  | { readonly kind: 'Text' | 'Boolean' | 'Integer' | 'Number' | 'Json' | 'Ignored' }
  | { readonly kind: 'List'; readonly item: XmlForm }
  | { readonly kind: 'Map'; readonly value: XmlForm }
  | { readonly kind: 'Object'; readonly members: ReadonlyMap<string, XmlMember> }
  | { readonly kind: 'Either'; readonly branches: ReadonlyMap<string, XmlForm> };

export type XmlForm = XmlType & {
  /** A component has its title as the name of its type. */
  readonly title: string | undefined;
  readonly isNillable: boolean;
  readonly schema: JsonSchema;
};

export interface XmlMember {
  readonly form: XmlForm;
  readonly isRequired: boolean;
}

const made = new WeakMap<JsonSchema, XmlForm>();

export function xmlForm(schema: JsonSchema): XmlForm {
  const known = made.get(schema);
  if (known !== undefined) return known;
  const inner = schema.anyOf?.find(({ type }) => type !== 'null');
  const isNillable = inner !== undefined && schema.anyOf?.some(({ type }) => type === 'null') === true;
  const form = isNillable
    ? { ...xmlForm(inner), isNillable }
    : { ...typeOf(schema), title: schema.title, isNillable, schema };
  made.set(schema, form);
  return form;
}

function typeOf(schema: JsonSchema): XmlType {
  const { type, properties, additionalProperties, items, oneOf, anyOf } = schema;
  if (schema.readOnly === true) return { kind: 'Ignored' };
  // What the branches of a tagged union have in common is not said: the gateway knows which members belong together.
  if (oneOf !== undefined) return { kind: 'Object', members: membersOfAll(oneOf) };
  if (anyOf !== undefined)
    return {
      kind: 'Either',
      branches: new Map(anyOf.map((each) => [elementName(each), xmlForm(each)])),
    };
  if (type === 'array') return { kind: 'List', item: xmlForm(items ?? {}) };
  if (properties !== undefined) return { kind: 'Object', members: membersOf(schema) };
  if (typeof additionalProperties === 'object') return { kind: 'Map', value: xmlForm(additionalProperties) };
  if (type === 'boolean') return { kind: 'Boolean' };
  if (type === 'integer') return { kind: 'Integer' };
  if (type === 'number') return { kind: 'Number' };
  return { kind: type === 'string' ? 'Text' : 'Json' };
}

function membersOf({ properties = {}, required = [] }: JsonSchema): Map<string, XmlMember> {
  const members = Object.entries(properties);
  return new Map(
    members.map(([name, each]) => [name, { form: xmlForm(each), isRequired: required.includes(name) }]),
  );
}

function membersOfAll(branches: readonly JsonSchema[]): Map<string, XmlMember> {
  const all = new Map<string, XmlMember>();
  for (const branch of branches) {
    for (const [name, { form, isRequired }] of membersOf(branch)) {
      const isRequiredByAll = isRequired && branches.every(({ required }) => required?.includes(name));
      if (!all.has(name)) all.set(name, { form, isRequired: isRequiredByAll });
    }
  }
  return all;
}

/** `IngestReceipt` is the element `ingestReceipt`. */
function elementName({ title }: JsonSchema): string {
  if (title === undefined) throw new Error('what stands in an answer by itself has a title');
  return title.charAt(0).toLowerCase() + title.slice(1);
}

export interface SoapOperation {
  readonly operation: Operation<OperationName>;
  /** The element of the request; that of the answer has `Response` behind it. */
  readonly name: string;
  readonly action: string;
  readonly request: XmlForm;
  readonly response: XmlForm;
  /** The element that holds the body of the answer; undefined where the members of the body stand for themselves. */
  readonly bodyElement: string | undefined;
}

export function soapOperations(): SoapOperation[] {
  return operationsIn(SOAP_VERSION)
    .filter((each) => isOffered(each, 'soap'))
    .map((operation) => {
      const { output } = operation;
      // Its element says its name, so its type needs none.
      const { title: _, ...input } = asJson(operation.input);
      const name = soapName(operation.name);
      const bodyElement = output.kind === 'Json' ? elementName(asJson(output.schema)) : undefined;
      return {
        operation,
        name,
        action: `${SOAP_NAMESPACE}/${name}`,
        request: xmlForm(input),
        response: xmlForm(responseSchema(operation, bodyElement)),
        bodyElement,
      };
    });
}

function responseSchema({ output }: Operation, bodyElement: string | undefined): JsonSchema {
  if (output.kind === 'Json' && bodyElement !== undefined)
    return objectOf({ [bodyElement]: asJson(output.schema) });
  if (output.kind !== 'List') return objectOf({});
  return objectOf({ data: { type: 'array', items: asJson(output.item) }, pagination: asJson(Pagination) });
}

const objectOf = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});
