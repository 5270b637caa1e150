// The two versions of SOAP, and the refusals that are SOAP's own.

import { AuditError } from '@tallystick/contract';
import type { XmlName } from './xml/scan.ts';

export type SoapVersion = '1.1' | '1.2';

export const ENVELOPE_NAMESPACES: Readonly<Record<SoapVersion, string>> = {
  '1.1': 'http://schemas.xmlsoap.org/soap/envelope/',
  '1.2': 'http://www.w3.org/2003/05/soap-envelope',
};

export class SoapFault extends AuditError {
  readonly kind: 'VersionMismatch' | 'MustUnderstand';
  readonly notUnderstood: readonly XmlName[];

  constructor(kind: SoapFault['kind'], message: string, notUnderstood: readonly XmlName[] = []) {
    super(kind === 'VersionMismatch' ? 'MALFORMED_XML' : 'INVALID_HEADER', message);
    this.kind = kind;
    this.notUnderstood = notUnderstood;
  }
}
