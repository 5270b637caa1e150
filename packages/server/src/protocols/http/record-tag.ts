// The entity tag of an answer as `ifMatch` takes it, for protocols that show it beside the body: what the operation says, or
// the version of the record. Never one that only names bytes.

import type { Operation, OperationName } from '@tallystick/contract';
import type { AnyAnswer } from '../../operations.ts';

const VERSION_TAG = '"{version}"';

export function recordTag(
  { rest }: Pick<Operation<OperationName>, 'rest'>,
  { facts, body }: Pick<AnyAnswer, 'facts' | 'body'>,
): string | undefined {
  if (facts?.etag !== undefined || rest.answerHeaders?.ETag !== VERSION_TAG) return facts?.etag;
  const { version } = (body ?? {}) as { version?: number };
  return version === undefined ? undefined : `"${version}"`;
}
