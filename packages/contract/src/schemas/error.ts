// The body of every error in REST, and the shape that other protocols carry in their own envelopes.

import type { Static } from 'typebox';
import { arrayOf, doc, object, optional } from '../schema.ts';
import { Type } from '../type.ts';
import { Instant } from './primitives.ts';

export type ErrorDetail = Static<typeof ErrorDetail>;
export const ErrorDetail = object('ErrorDetail', 'One rule broken by one field.', {
  field: Type.String({ description: 'Full path: `events[2].actor.actorType`.' }),
  issue: Type.String({ description: 'The rule that is broken.' }),
  value: optional(Type.Unknown({ description: 'What was sent, cut short; never a secret.' })),
});

export type ErrorInfo = Static<typeof ErrorInfo>;
export const ErrorInfo = object('ErrorInfo', 'What went wrong, for programs and for people.', {
  // A plain string, not a closed list: a client must survive a code that is newer than itself.
  code: Type.String({ description: 'A code of the error catalogue.' }),
  message: Type.String(),
  details: doc(arrayOf(ErrorDetail), 'All violations; empty when the error is not about fields.'),
  traceId: Type.String({ description: 'W3C trace id.' }),
  timestamp: Instant,
  path: Type.String({ description: 'The request path, without its query.' }),
  requestId: Type.String(),
});

export type ErrorBody = Static<typeof ErrorBody>;
export const ErrorBody = object('ErrorBody', 'The body of every error.', { error: ErrorInfo });
