// The interface over SOAP as WSDL 1.1: document/literal, wrapped, with a port for SOAP 1.1 and one for SOAP 1.2 at the same
// address. The committed file has an example's address; the service puts its own there.

import { SOAP_NAMESPACE, soapOperations } from './form.ts';
import type { SoapOperation } from './form.ts';

export const SOAP_PATH = '/soap/v1';
const EXAMPLE_URL = 'https://audit.example.com';

const HTTP = 'http://schemas.xmlsoap.org/soap/http';
const BINDINGS = [
  ['TallystickSoap11', 'soap'],
  ['TallystickSoap12', 'soap12'],
] as const;

/** `publicUrl`: where callers reach the service, without a slash at the end. */
export function soapWsdl(publicUrl?: string): string {
  const operations = soapOperations();
  const location = `${publicUrl ?? EXAMPLE_URL}${SOAP_PATH}`
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;');
  // The file is also read at `/soap/v1?wsdl`, where a relative address would lead elsewhere.
  const xsd = `${publicUrl === undefined ? '' : `${location}/`}tallystick.xsd`;
  const ports = BINDINGS.map(
    ([name, soap]) =>
      `    <wsdl:port name="${name}" binding="t:${name}"><${soap}:address location="${location}"/></wsdl:port>`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>
<wsdl:definitions xmlns:wsdl="http://schemas.xmlsoap.org/wsdl/" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/" xmlns:soap12="http://schemas.xmlsoap.org/wsdl/soap12/" xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:t="${SOAP_NAMESPACE}" name="Tallystick" targetNamespace="${SOAP_NAMESPACE}">
  <wsdl:types>
    <xs:schema><xs:import namespace="${SOAP_NAMESPACE}" schemaLocation="${xsd}"/></xs:schema>
  </wsdl:types>
  <wsdl:message name="Fault"><wsdl:part name="fault" element="t:Fault"/></wsdl:message>
${operations.flatMap(messages).join('\n')}
  <wsdl:portType name="Tallystick">
${operations.flatMap(abstractOperation).join('\n')}
  </wsdl:portType>
${BINDINGS.flatMap(([name, soap]) => binding(name, soap, operations)).join('\n')}
  <wsdl:service name="Tallystick">
${ports.join('\n')}
  </wsdl:service>
</wsdl:definitions>
`;
}

const messages = ({ name }: SoapOperation): string[] => [
  `  <wsdl:message name="${name}"><wsdl:part name="parameters" element="t:${name}"/></wsdl:message>`,
  `  <wsdl:message name="${name}Response"><wsdl:part name="parameters" element="t:${name}Response"/></wsdl:message>`,
];

const abstractOperation = ({ name, operation }: SoapOperation): string[] => [
  `    <wsdl:operation name="${name}">`,
  `      <wsdl:documentation>${operation.summary.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</wsdl:documentation>`,
  `      <wsdl:input message="t:${name}"/>`,
  `      <wsdl:output message="t:${name}Response"/>`,
  `      <wsdl:fault name="Fault" message="t:Fault"/>`,
  `    </wsdl:operation>`,
];

function binding(name: string, soap: string, operations: readonly SoapOperation[]): string[] {
  return [
    `  <wsdl:binding name="${name}" type="t:Tallystick">`,
    `    <${soap}:binding style="document" transport="${HTTP}"/>`,
    ...operations.flatMap((each) => [
      `    <wsdl:operation name="${each.name}">`,
      `      <${soap}:operation soapAction="${each.action}" style="document"/>`,
      `      <wsdl:input><${soap}:body use="literal"/></wsdl:input>`,
      `      <wsdl:output><${soap}:body use="literal"/></wsdl:output>`,
      `      <wsdl:fault name="Fault"><${soap}:fault name="Fault" use="literal"/></wsdl:fault>`,
      `    </wsdl:operation>`,
    ]),
    `  </wsdl:binding>`,
  ];
}
