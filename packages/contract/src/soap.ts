// The interface over SOAP, made from the operations. A package path of its own: only who speaks it loads it.

export { soapName } from './names/soap.ts';
export { SOAP_NAMESPACE, SOAP_VERSION, soapOperations, xmlForm } from './soap/form.ts';
export type { SoapOperation, XmlForm, XmlMember, XmlType } from './soap/form.ts';
export { SOAP_PATH, soapWsdl } from './soap/wsdl.ts';
export { soapXsd } from './soap/xsd.ts';
