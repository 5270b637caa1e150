// Redacts events and erases people over HTTP. A request is sent again if its answer is lost; the Idempotency-Key makes sure that
// it is done once. An answer of the wrong shape is an EvidenceError; no answer, or a refusal, is NoAnswer.

import type { AwaitingConfirmation, Erasure, ErasureRequest, RedactionReceipt } from '@tallystick/contract';
import { type AskedService, askerOf, misshapen } from '../ask-json.ts';
import { areTexts, isCount, membersOf } from '../members.ts';
import { type Change, retried } from '../retried-change.ts';

export interface ServedRedaction {
  redact(
    eventId: string,
    request: { readonly fields: readonly string[]; readonly reason: string },
    change: Change,
  ): Promise<RedactionReceipt | AwaitingConfirmation>;
  erase(request: ErasureRequest, change: Change): Promise<Erasure | AwaitingConfirmation>;
  erasure(erasureId: string): Promise<Erasure>;
  /** What was confirmed, as it is now. */
  confirm(operationId: string, change: Change): Promise<RedactionReceipt | Erasure>;
}

const ADVICE = {
  401: 'give an API key that may redact (audit:redact) by TALLYSTICK_API_KEY or --api-key',
  403: 'the API key may not do that here: it needs audit:redact, the role Admin if it has roles, and the tenant; and what you asked for yourself another caller confirms',
  404: undefined,
} as const;

export function servedRedaction(service: AskedService): ServedRedaction {
  const ask = askerOf(service, ADVICE);
  const asked = async <T>(
    path: string,
    isAnswer: (value: unknown) => value is T,
    options?: Parameters<typeof ask>[1],
  ) => {
    const { answer } = await ask(path, options);
    if (!isAnswer(answer)) throw misshapen(path);
    return answer;
  };
  const at = encodeURIComponent;
  return {
    redact: (eventId, body, change) =>
      retried(change, (headers) =>
        asked(`audit-events/${at(eventId)}/redact`, either(isReceipt, isAwaiting), { body, headers }),
      ),
    erase: (body, change) =>
      retried(change, (headers) => asked('erasures', either(isErasure, isAwaiting), { body, headers })),
    erasure: (erasureId) => asked(`erasures/${at(erasureId)}`, isErasure),
    confirm: (operationId, change) =>
      retried(change, (headers) =>
        asked(`admin/operations/${at(operationId)}/confirm`, either(isReceipt, isErasure), {
          method: 'POST',
          headers,
        }),
      ),
  };
}

function either<A, B>(isOne: (value: unknown) => value is A, isOther: (value: unknown) => value is B) {
  return (value: unknown): value is A | B => isOne(value) || isOther(value);
}

/** Any server may be at the address. */
function isReceipt(value: unknown): value is RedactionReceipt {
  const receipt = membersOf(value);
  const { fields } = receipt;
  const areFields = Array.isArray(fields) && fields.every((field) => typeof field === 'string');
  return areTexts(receipt, ['eventId', 'noticeId', 'redactedAt']) && areFields;
}

function isAwaiting(value: unknown): value is AwaitingConfirmation {
  const awaiting = membersOf(value);
  return areTexts(awaiting, ['operationId']) && awaiting['status'] === 'AwaitingConfirmation';
}

function isErasure(value: unknown): value is Erasure {
  const erasure = membersOf(value);
  // Readers who do not see every event get no counts.
  const counts = ['matchedEvents', 'erasedEvents', 'heldEvents'].map((name) => erasure[name]);
  return (
    areTexts(erasure, ['erasureId', 'status', 'requestedAt', 'requestedBy']) &&
    counts.every((count) => count === undefined || isCount(count))
  );
}
