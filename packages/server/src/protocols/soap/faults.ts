// Errors as faults of SOAP 1.1 and 1.2, each with the code of the catalogue and all that REST says of it in the detail.

import { asJson, type AuditError, ErrorInfo, REST_STATUS_OF_ERROR } from '@tallystick/contract';
import { xmlForm } from '@tallystick/contract/soap';
import { type ErrorPlace, shownError } from '../../gateway/shown-error.ts';
import { errorHeaders } from '../http/error-headers.ts';
import type { ErrorReply } from '../http/mount.ts';
import { AnswerWriter, envelope } from './answer-writer.ts';
import { ENVELOPE_NAMESPACES, SoapFault, type SoapVersion } from './soap-fault.ts';

export const MEDIA_TYPES: Readonly<Record<SoapVersion, string>> = {
  '1.1': 'text/xml; charset=utf-8',
  '1.2': 'application/soap+xml; charset=utf-8',
};

/** SOAP 1.1 says 500 for every fault; programs in between act on these, so they stay. */
const KEPT_STATUSES: readonly number[] = [401, 403, 429, 503];

export function faultReply(
  version: SoapVersion,
  error: AuditError,
  place: ErrorPlace,
  nowMs: number,
): ErrorReply {
  const writer = new AnswerWriter();
  const detail = writer.element('Fault', xmlForm(asJson(ErrorInfo)), shownError(error, place, nowMs));
  const text = writer.text.text(error.message);
  const status = REST_STATUS_OF_ERROR[error.code];
  const isCallers = status < 500;
  const fault =
    version === '1.1' ? fault11(error, isCallers, text, detail) : fault12(error, isCallers, text, detail);
  return {
    status: httpStatus(version, error, status),
    headers: { 'Content-Type': MEDIA_TYPES[version], ...errorHeaders(error) },
    body: envelope(version, headersOf(version, error), fault),
    coding: undefined,
  };
}

function httpStatus(version: SoapVersion, { code }: AuditError, status: number): number {
  if (code === 'UNSUPPORTED_MEDIA_TYPE') return 415;
  if (KEPT_STATUSES.includes(status)) return status;
  return version === '1.2' && status < 500 ? 400 : 500;
}

function fault11(error: AuditError, isCallers: boolean, text: string, detail: string): string {
  const code = error instanceof SoapFault ? error.kind : isCallers ? 'Client' : 'Server';
  return `<s:Fault><faultcode>s:${code}</faultcode><faultstring xml:lang="en">${text}</faultstring><detail>${detail}</detail></s:Fault>`;
}

function fault12(error: AuditError, isCallers: boolean, text: string, detail: string): string {
  const code = error instanceof SoapFault ? error.kind : isCallers ? 'Sender' : 'Receiver';
  const subcode =
    error instanceof SoapFault ? '' : `<s:Subcode><s:Value>t:${error.code}</s:Value></s:Subcode>`;
  const reason = `<s:Reason><s:Text xml:lang="en">${text}</s:Text></s:Reason>`;
  return `<s:Fault><s:Code><s:Value>s:${code}</s:Value>${subcode}</s:Code>${reason}<s:Detail>${detail}</s:Detail></s:Fault>`;
}

/** SOAP 1.2 says in headers which envelopes are understood, and which headers are not. */
function headersOf(version: SoapVersion, error: AuditError): string {
  if (version === '1.1' || !(error instanceof SoapFault)) return '';
  if (error.kind === 'VersionMismatch') {
    const supported = Object.values(ENVELOPE_NAMESPACES).map(
      (namespace) => `<s:SupportedEnvelope qname="e:Envelope" xmlns:e="${namespace}"/>`,
    );
    return `<s:Upgrade>${supported.join('')}</s:Upgrade>`;
  }
  const writer = new AnswerWriter();
  return error.notUnderstood
    .map(({ namespace, local }) => {
      const declared = namespace === '' ? '' : ` xmlns:n="${writer.text.attribute(namespace)}"`;
      return `<s:NotUnderstood qname="${namespace === '' ? '' : 'n:'}${local}"${declared}/>`;
    })
    .join('');
}
