// Reads XML into values as the contract has them, by the form of a schema; for the speaker of SOAP.

import type { XmlForm } from '@tallystick/contract/soap';
import {
  type XmlAttribute,
  type XmlName,
  type XmlReader,
  XmlScanner,
} from '../../../packages/server/src/protocols/soap/xml/scan.ts';

export interface XmlElement extends XmlName {
  readonly attributes: readonly XmlAttribute[];
  readonly children: readonly XmlElement[];
  readonly text: string;
}

type Growing = { -readonly [K in keyof XmlElement]: XmlElement[K] } & { children: XmlElement[] };

export function parseXml(xml: string): XmlElement {
  const root: Growing = { namespace: '', local: '', attributes: [], children: [], text: '' };
  const open: Growing[] = [root];
  const reader: XmlReader = {
    start(name, attributes) {
      const element: Growing = { ...name, attributes, children: [], text: '' };
      open.at(-1)!.children.push(element);
      open.push(element);
    },
    text: (piece) => void (open.at(-1)!.text += piece),
    end: () => void open.pop(),
  };
  const scanner = new XmlScanner(Buffer.from(xml), reader);
  while (scanner.step());
  return root.children[0]!;
}

/** The child of this name; undefined where there is none. */
export function childOf(element: XmlElement | undefined, name: string): XmlElement | undefined {
  return element?.children.find(({ local }) => local === name);
}

export function attributeOf(element: XmlElement | undefined, name: string): string | undefined {
  return element?.attributes.find(({ local }) => local === name)?.value;
}

export function valueOf(form: XmlForm, element: XmlElement): unknown {
  const { children, text } = element;
  if (attributeOf(element, 'nil') === 'true') return null;
  if (form.kind === 'List') return children.map((child) => valueOf(form.item, child));
  if (form.kind === 'Map')
    return Object.fromEntries(
      children.map((child) => [attributeOf(child, 'key'), valueOf(form.value, child)]),
    );
  if (form.kind === 'Object')
    return Object.fromEntries(
      children.map((child) => [child.local, valueOf(form.members.get(child.local)!.form, child)]),
    );
  if (form.kind === 'Either') {
    const [child] = children;
    return valueOf(form.branches.get(child!.local)!, child!);
  }
  if (form.kind === 'Json') return JSON.parse(text);
  if (form.kind === 'Boolean') return text === 'true';
  return form.kind === 'Integer' || form.kind === 'Number' ? Number(text) : text;
}
