// Writes the answer to a request: its body as its form says, in an envelope with our header. Members are in the order of the
// XML Schema, whatever their order is.

import { type AnswerKind, branchOf } from '@tallystick/contract';
import { SOAP_NAMESPACE, type SoapOperation, type XmlForm } from '@tallystick/contract/soap';
import { writeJson } from '../../written-json.ts';
import { ENVELOPE_NAMESPACES, type SoapVersion } from './soap-fault.ts';
import { XmlText } from './xml/characters.ts';

export interface SoapAnswer {
  readonly kind: AnswerKind;
  readonly body: unknown;
  readonly etag: string | undefined;
  readonly correlationId: string;
}

export function answerXml(
  version: SoapVersion,
  { name, response, bodyElement }: SoapOperation,
  { kind, body, etag, correlationId }: SoapAnswer,
): string {
  const writer = new AnswerWriter();
  const members = bodyElement === undefined ? (body ?? {}) : { [bodyElement]: body };
  const written = writer.element(`${name}Response`, response, members);
  const attributes: [string, string | undefined][] = [
    ['kind', kind],
    ['etag', etag],
    ['correlationId', correlationId],
    ['replaced', String(writer.text.replaced)],
  ];
  const shown = attributes.map(([key, value]) =>
    value === undefined ? '' : ` ${key}="${writer.text.attribute(value)}"`,
  );
  return envelope(version, `<t:Answer${shown.join('')}/>`, written);
}

export function envelope(version: SoapVersion, header: string, body: string): string {
  const head = header === '' ? '' : `<s:Header>${header}</s:Header>`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<s:Envelope xmlns:s="${ENVELOPE_NAMESPACES[version]}" xmlns:t="${SOAP_NAMESPACE}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">${head}<s:Body>${body}</s:Body></s:Envelope>`;
}

export class AnswerWriter {
  readonly text = new XmlText();

  element(name: string, form: XmlForm, value: unknown, attributes = ''): string {
    if (value === null && form.kind !== 'Json') return `<t:${name}${attributes} xsi:nil="true"/>`;
    return `<t:${name}${attributes}>${this.#inside(form, value)}</t:${name}>`;
  }

  #inside(form: XmlForm, value: unknown): string {
    if (form.kind === 'Object') {
      const known = value as Readonly<Record<string, unknown>>;
      let written = '';
      for (const [name, member] of form.members) {
        const inner = known[name];
        if (inner !== undefined && member.form.kind !== 'Ignored')
          written += this.element(name, member.form, inner);
      }
      return written;
    }
    if (form.kind === 'List')
      return (value as readonly unknown[]).map((item) => this.element('item', form.item, item)).join('');
    if (form.kind === 'Map')
      return Object.entries(value as object)
        .map(([key, inner]) => this.element('entry', form.value, inner, ` key="${this.text.attribute(key)}"`))
        .join('');
    if (form.kind === 'Either') return this.#branch(form, value as object);
    if (form.kind === 'Json') return this.text.text(asciiWhereNeeded(writeJson(value)));
    return this.text.text(String(value));
  }

  #branch({ schema, branches }: XmlForm & { readonly kind: 'Either' }, value: object): string {
    const title = branchOf(schema, value)?.title;
    for (const [name, branch] of branches)
      if (branch.title === title) return this.element(name, branch, value);
    throw new Error(`${schema.title} is none of its branches`);
  }
}

/** JSON can name every character that XML 1.0 does not have, so nothing of it is lost. */
function asciiWhereNeeded(json: string): string {
  return json.replaceAll(/[\uFFFE\uFFFF]/g, (each) => `\\u${each.charCodeAt(0).toString(16)}`);
}
