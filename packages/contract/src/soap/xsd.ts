// The types of SOAP as XML Schema. It says shapes, and in words what values mean; lengths, patterns and closed lists of words
// are left to the service, which says better what is wrong, and may widen them without breaking a generated client.

import { asJson } from '../schema.ts';
import type { JsonSchema } from '../schema.ts';
import { ErrorInfo } from '../schemas/error.ts';
import { SOAP_NAMESPACE, soapOperations, xmlForm } from './form.ts';
import type { XmlForm } from './form.ts';

const XSD_OF = { Text: 'xs:string', Boolean: 'xs:boolean', Number: 'xs:double', Json: 't:Json' } as const;
const INT_MAX = 2 ** 31 - 1;

const HEAD = `<?xml version="1.0" encoding="UTF-8"?>
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:t="${SOAP_NAMESPACE}" targetNamespace="${SOAP_NAMESPACE}" elementFormDefault="qualified">
  <xs:simpleType name="Json">
    <xs:annotation><xs:documentation>JSON as text: its keys and numbers are as they were sent.</xs:documentation></xs:annotation>
    <xs:restriction base="xs:string"/>
  </xs:simpleType>
  <xs:element name="Call">
    <xs:annotation><xs:documentation>A header of a request. The idempotency key may stand here or in the HTTP header Idempotency-Key.</xs:documentation></xs:annotation>
    <xs:complexType>
      <xs:attribute name="idempotencyKey" type="xs:string"/>
    </xs:complexType>
  </xs:element>
  <xs:element name="Answer">
    <xs:annotation><xs:documentation>The header of an answer. kind: Created, Repeated and the like. etag: what ifMatch takes. replaced: how many characters that XML 1.0 has not were written as U+FFFD.</xs:documentation></xs:annotation>
    <xs:complexType>
      <xs:attribute name="kind" type="xs:string" use="required"/>
      <xs:attribute name="etag" type="xs:string"/>
      <xs:attribute name="correlationId" type="xs:string" use="required"/>
      <xs:attribute name="replaced" type="xs:int" use="required"/>
    </xs:complexType>
  </xs:element>
`;

export function soapXsd(): string {
  const types = new Map<string, XmlForm>();
  const lines: string[] = [];
  const error = xmlForm(asJson(ErrorInfo));
  collect(error, types);
  lines.push('  <xs:element name="Fault" type="t:ErrorInfo"/>');
  for (const { name, request, response } of soapOperations()) {
    for (const form of [request, response]) collect(form, types);
    lines.push(`  <xs:element name="${name}">`, ...complexType(request, 4), '  </xs:element>');
    lines.push(`  <xs:element name="${name}Response">`, ...complexType(response, 4), '  </xs:element>');
  }
  for (const [title, form] of [...types].toSorted(([one], [other]) => (one < other ? -1 : 1)))
    lines.push(...complexType(form, 2, title));
  return `${HEAD}${lines.join('\n')}\n</xs:schema>\n`;
}

/** The named types in a form, itself included. */
function collect(form: XmlForm, types: Map<string, XmlForm>): void {
  if (isNamed(form)) {
    if (types.has(form.title)) return;
    types.set(form.title, form);
  }
  for (const inner of insideOf(form)) collect(inner, types);
}

const isNamed = (form: XmlForm): form is XmlForm & { readonly title: string } =>
  form.title !== undefined && (form.kind === 'Object' || form.kind === 'Either');

function insideOf(form: XmlForm): XmlForm[] {
  if (form.kind === 'List') return [form.item];
  if (form.kind === 'Map') return [form.value];
  if (form.kind === 'Object') return [...form.members.values()].map((member) => member.form);
  return form.kind === 'Either' ? [...form.branches.values()] : [];
}

function complexType(form: XmlForm, indent: number, name?: string): string[] {
  const pad = ' '.repeat(indent);
  const described = name === undefined ? [] : documentation(form.schema, indent + 2);
  const open = `${pad}<xs:complexType${name === undefined ? '' : ` name="${name}"`}>`;
  const choice = form.kind === 'Either' ? 'choice' : 'sequence';
  const elements = elementsOf(form, indent + 4);
  return [
    open,
    ...described,
    `${pad}  <xs:${choice}>`,
    ...elements,
    `${pad}  </xs:${choice}>`,
    `${pad}</xs:complexType>`,
  ];
}

function elementsOf(form: XmlForm, indent: number): string[] {
  if (form.kind === 'List') return element('item', form.item, ANY_NUMBER, indent);
  if (form.kind === 'Either')
    return [...form.branches].flatMap(([name, branch]) => element(name, branch, '', indent));
  if (form.kind !== 'Object') throw new Error(`${form.kind} has no elements`);
  return [...form.members]
    .filter(([, member]) => member.form.kind !== 'Ignored')
    .flatMap(([name, member]) =>
      element(name, member.form, member.isRequired ? '' : ' minOccurs="0"', indent),
    );
}

const ANY_NUMBER = ' minOccurs="0" maxOccurs="unbounded"';

function element(name: string, form: XmlForm, occurs: string, indent: number): string[] {
  const pad = ' '.repeat(indent);
  const attributes = `${occurs}${form.isNillable ? ' nillable="true"' : ''}`;
  const type = typeName(form);
  const described = isNamed(form) ? [] : documentation(form.schema, indent + 2);
  if (type !== undefined) {
    const open = `${pad}<xs:element name="${name}" type="${type}"${attributes}`;
    return described.length === 0 ? [`${open}/>`] : [`${open}>`, ...described, `${pad}</xs:element>`];
  }
  const inside = form.kind === 'Map' ? entries(form.value, indent + 2) : complexType(form, indent + 2);
  return [`${pad}<xs:element name="${name}"${attributes}>`, ...described, ...inside, `${pad}</xs:element>`];
}

/** Undefined: the element has a type of its own. */
function typeName(form: XmlForm): string | undefined {
  if (isNamed(form)) return `t:${form.title}`;
  if (form.kind === 'Integer') {
    const { maximum } = form.schema;
    return maximum !== undefined && maximum <= INT_MAX ? 'xs:int' : 'xs:long';
  }
  const { kind } = form;
  return kind === 'Text' || kind === 'Boolean' || kind === 'Number' || kind === 'Json'
    ? XSD_OF[kind]
    : undefined;
}

function entries(value: XmlForm, indent: number): string[] {
  const pad = ' '.repeat(indent);
  const type = typeName(value);
  const key = `<xs:attribute name="key" type="xs:string" use="required"/>`;
  const lines =
    value.kind === 'Object' || value.kind === 'Either'
      ? [`      <xs:complexContent><xs:extension base="${type}">${key}</xs:extension></xs:complexContent>`]
      : type === undefined
        ? ['      <xs:sequence>', ...elementsOf(value, 8), '      </xs:sequence>', `      ${key}`]
        : [`      <xs:simpleContent><xs:extension base="${type}">${key}</xs:extension></xs:simpleContent>`];
  const nillable = value.isNillable ? ' nillable="true"' : '';
  return [
    '<xs:complexType>',
    '  <xs:sequence>',
    `    <xs:element name="entry"${ANY_NUMBER}${nillable}>`,
    '      <xs:complexType>',
    ...lines.map((line) => `  ${line}`),
    '      </xs:complexType>',
    '    </xs:element>',
    '  </xs:sequence>',
    '</xs:complexType>',
  ].map((line) => pad + line);
}

function documentation(schema: JsonSchema, indent: number): string[] {
  const { description, 'x-use': use, 'x-expected': expected, enum: words } = schema;
  const sentences = [
    use ?? description,
    words === undefined ? undefined : `One of ${words.join(', ')}.`,
    expected === undefined ? undefined : `Must be ${expected}.`,
  ].filter((each) => each !== undefined);
  if (sentences.length === 0) return [];
  const text = escapeXml(sentences.join(' '));
  return [`${' '.repeat(indent)}<xs:annotation><xs:documentation>${text}</xs:documentation></xs:annotation>`];
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
