// What the head of a request says of the message: its version of SOAP, by the media type, and the operation that it asks for,
// where it names one.

import { AuditError } from '@tallystick/contract';
import type { SoapOperation } from '@tallystick/contract/soap';
import { header, type HeaderValues } from '../http/request-headers.ts';
import type { SoapVersion } from './soap-fault.ts';

const MEDIA_TYPE = /^\s*(text\/xml|application\/soap\+xml)\s*(?:;(.*))?$/i;
const CHARSET = /(?:^|;)\s*charset\s*=\s*"?([^";]*)"?/i;
const ACTION = /(?:^|;)\s*action\s*=\s*(?:"([^"]*)"|([^\s;"]*))/i;

/** SOAP 1.1 where nothing says otherwise: a refusal needs a form. */
export function versionOf(headers: HeaderValues): SoapVersion {
  return /^\s*application\/soap\+xml/i.test(header(headers, 'content-type') ?? '') ? '1.2' : '1.1';
}

/** Undefined: the head names no operation, so the body does. */
export function operationAsked(
  headers: HeaderValues,
  byAction: ReadonlyMap<string, SoapOperation>,
): SoapOperation | undefined {
  const contentType = header(headers, 'content-type') ?? '';
  const match = MEDIA_TYPE.exec(contentType);
  const [, mediaType = '', parameters = ''] = match ?? [];
  const [, charset = 'utf-8'] = CHARSET.exec(parameters) ?? [];
  if (match === null || !/^utf-?8$/i.test(charset.trim())) {
    const issue = 'must be text/xml (SOAP 1.1) or application/soap+xml (SOAP 1.2), in UTF-8';
    throw new AuditError('UNSUPPORTED_MEDIA_TYPE', `Content-Type ${issue}.`, {
      details: [{ field: 'Content-Type', issue, value: contentType }],
    });
  }
  const [, quoted, bare] = ACTION.exec(parameters) ?? [];
  const named = /soap\+xml/i.test(mediaType) ? (quoted ?? bare) : header(headers, 'soapaction');
  const action = (named ?? '').trim().replace(/^"(.*)"$/, '$1');
  if (action === '') return undefined;
  const operation = byAction.get(action);
  if (operation !== undefined) return operation;
  throw new AuditError('ROUTE_NOT_FOUND', `There is no action ${action.slice(0, 200)}.`);
}
