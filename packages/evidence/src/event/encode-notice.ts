// A notice as the event that it is, ready to be hashed and stored. Its actor is always the System, never the
// caller who asked for the act: a notice holds ids and no personal data, and stays for ever.

import { EvidenceError } from '../errors.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { type NoticeKind, type NoticePayload, payloadFault } from './notices.ts';

const encoder = new TextEncoder();

export interface NoticeFacts<K extends NoticeKind> {
  readonly kind: K;
  /** Such as `Create.ApiKey`. */
  readonly action: string;
  readonly resource: { readonly resourceType: string; readonly resourceId: string };
  readonly payload: NoticePayload<K>;
  /** A UUID: that of the request which caused it, or a new one. */
  readonly correlationId: string;
}

/** The RFC 8785 texts of its two groups; throws EvidenceError for a payload that its kind does not have. */
export function encodeNotice<K extends NoticeKind>(
  { kind, action, resource, payload, correlationId }: NoticeFacts<K>,
  timestamp: string,
): [Uint8Array, Uint8Array] {
  const fault = payloadFault(kind, payload);
  if (fault !== undefined) throw new EvidenceError('NOTICE_INVALID', `a notice of kind ${kind} ${fault}`);
  const facts = {
    timestamp,
    correlationId,
    actor: { actorType: 'System' },
    action,
    resource,
    classification: 'Internal',
    outcome: 'Success',
    submittedBy: 'system',
  };
  return [encoder.encode(canonicalJson(facts)), encoder.encode(canonicalJson({ payload }))];
}
