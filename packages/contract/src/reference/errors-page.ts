// The page of errors: every code under the REST status that carries it.

import { ERROR_CODES, ERRORS } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import { REST_STATUS_OF_ERROR } from '../rest-status.ts';
import { anchor, code, page, table } from './markdown.ts';

const STATUS_TITLES = {
  400: 'It could not be understood',
  401: 'The caller is not known',
  403: 'The caller may not',
  404: 'It is not there, or not for this caller',
  409: 'It does not fit the present state',
  422: 'It was understood and breaks a rule',
  429: 'Too much at once',
  500: 'The service failed',
  503: 'The service cannot serve now',
  504: 'It took too long',
} as const satisfies Record<(typeof REST_STATUS_OF_ERROR)[ErrorCode], string>;

const BODY = `\`\`\`json
{ "error": {
    "code": "VALIDATION_FAILED",
    "message": "actor.actorType must be one of User, Service, System.",
    "details": [ { "field": "actor.actorType", "issue": "must be one of User, Service, System", "value": "Robot" } ],
    "traceId": "4bf92f3577b34da6a3ce929d0e0e4736",
    "timestamp": "2026-01-02T03:04:05.678Z",
    "path": "/api/v1/audit-events",
    "requestId": "01KE0000000000000000000042" } }
\`\`\``;

export function errorsPage(): string {
  const sections = Object.entries(STATUS_TITLES).map(([status, title]) => {
    const codes = ERROR_CODES.filter((each) => String(REST_STATUS_OF_ERROR[each]) === status);
    const rows = codes.map((each) => [
      `${anchor(each.toLowerCase())}${code(each)}`,
      ERRORS[each].meaning,
      ERRORS[each].mustAct.toLowerCase(),
      ERRORS[each].repeatHelps ? 'yes' : 'no',
    ]);
    const head = ['code', 'meaning', 'who must act', 'can the same request succeed later?'];
    return `## ${status} – ${title}\n\n${table(head, rows)}`;
  });
  const introduction = `Every error has one body. \`details\` lists all violations and is empty when the error is not about fields.\n\n${BODY}`;
  return page('Errors', introduction, sections);
}
