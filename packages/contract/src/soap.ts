// The interface over SOAP, made from the operations. A package path of its own: only who speaks it loads it.

export { soapName } from './names/soap.ts';
