// Speaks SOAP: envelopes as a generated client writes them, in either version, and the answers read by the forms of the schemas.

import { type AnswerKind, asJson, ErrorInfo } from '@tallystick/contract';
import { SOAP_NAMESPACE, type SoapOperation, soapOperations, xmlForm } from '@tallystick/contract/soap';
import { AnswerWriter, envelope } from '../../../packages/server/src/protocols/soap/answer-writer.ts';
import type { SoapVersion } from '../../../packages/server/src/protocols/soap/soap-fault.ts';
import type { TestApp } from '../../../packages/server/src/testing/test-app.ts';
import type { Asking, Speaker, Spoken, Told } from '../speaker.ts';
import { callHeaders } from './rest.ts';
import { attributeOf, childOf, parseXml, valueOf } from './xml-value.ts';

export const SOAP: Spoken = {
  protocol: 'soap',
  versions: ['v1'],
  speak: (app) => Promise.resolve(soapSpeaker(app)),
};

export function soapSpeaker({ url }: Pick<TestApp, 'url'>, version: SoapVersion = '1.1'): Speaker {
  const operations = new Map(soapOperations().map((each) => [each.operation.name, each]));
  return {
    protocol: 'soap',
    versions: SOAP.versions,
    async ask(name, input, by: Asking = {}) {
      const operation = operations.get(name)!;
      const response = await fetch(`${url}/soap/v1`, {
        method: 'POST',
        headers: { ...callHeaders(by), ...messageHeaders(version, operation.action) },
        body: requestXml(version, operation, input),
      });
      return toldBy(operation, await response.text(), Object.fromEntries(response.headers));
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

export function messageHeaders(version: SoapVersion, action: string): Record<string, string> {
  return version === '1.1'
    ? { 'Content-Type': 'text/xml; charset=utf-8', SOAPAction: `"${action}"` }
    : { 'Content-Type': `application/soap+xml; charset=utf-8; action="${action}"` };
}

export function requestXml(version: SoapVersion, { name, request }: SoapOperation, input: object): string {
  return envelope(version, '', new AnswerWriter().element(name, request, input));
}

export function toldBy(operation: SoapOperation, xml: string, headers: Told['headers']): Told {
  const parsed = parseXml(xml);
  const [content] = childOf(parsed, 'Body')!.children;
  if (content!.namespace !== SOAP_NAMESPACE) {
    const detail = childOf(childOf(content, 'detail') ?? childOf(content, 'Detail'), 'Fault');
    return { error: valueOf(xmlForm(asJson(ErrorInfo)), detail!) as ErrorInfo, headers };
  }
  const { bodyElement, response, operation: asked } = operation;
  const kind = attributeOf(childOf(childOf(parsed, 'Header'), 'Answer'), 'kind') as AnswerKind;
  const value = valueOf(response, content!) as Record<string, unknown>;
  if (asked.output.kind === 'None') return { kind, headers, body: undefined };
  return { kind, body: bodyElement === undefined ? value : value[bodyElement], headers };
}
