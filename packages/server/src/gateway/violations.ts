// Turns the findings of a validator into the one error that is answered. The code follows from where a member travelled:
// a query parameter or header that breaks a rule was not understood, a member of a body or message was, and an
// identifier in the path that is not well formed names nothing; a schema may say otherwise by
// `x-refused-as`. Values are shown where they are plain and no secret.

import {
  AuditError,
  cutText,
  type ErrorCode,
  type ErrorDetail,
  isUnderstood,
  type JsonSchema,
  LIMITS,
} from '@tallystick/contract';
import type { OwnViolation, InputPlace, Received, UnknownParameters } from '../call.ts';
import { issueOf, knownMembers } from './issue.ts';
import type { Fault, ValuePath } from './schema-check.ts';
import { cutValue } from './shown-error.ts';

interface Violation {
  readonly place: InputPlace;
  readonly code: ErrorCode;
  readonly detail: ErrorDetail;
}

const CODE_OF_PLACE = {
  Query: 'INVALID_PARAMETER',
  Header: 'INVALID_HEADER',
  Body: 'VALIDATION_FAILED',
  Message: 'VALIDATION_FAILED',
  Path: 'ROUTE_NOT_FOUND',
} as const satisfies Record<InputPlace, ErrorCode>;

/** An input that was not understood comes before a broken rule, and that before a thing that does not exist. */
const PLACES: readonly InputPlace[] = ['Query', 'Header', 'Body', 'Message', 'Path'];

export function refusal(
  faults: readonly Fault[],
  received: Received,
  own: readonly OwnViolation[],
): AuditError {
  const inBody = received.violations.map(
    (detail): Violation => ({ place: 'Body', code: CODE_OF_PLACE.Body, detail }),
  );
  const { unknownParameters: unread } = received;
  const unknown = (unread === undefined ? [] : unknownParameters(unread)).map(
    (detail): Violation => ({ place: 'Query', code: CODE_OF_PLACE.Query, detail }),
  );
  const bySchema = [...inBody, ...unknown, ...faults.map((fault) => violation(fault, received))];
  // For a value that the schema refuses, a rule of the operation would repeat the same in other words.
  const saidOf = new Set(bySchema.map(({ detail }) => detail.field));
  const found = [
    ...bySchema,
    ...own
      .filter(({ detail }) => !saidOf.has(detail.field))
      .map(({ member, detail, code }): Violation => {
        const place = received.placeOf(member);
        return { place, code: code ?? CODE_OF_PLACE[place], detail };
      }),
  ];
  const place = PLACES.find((each) => found.some((other) => other.place === each)) ?? 'Body';
  const chosen = found.filter((each) => each.place === place);
  const code = codeFor(place, new Set(chosen.map((each) => each.code)));
  // Those that the code is about come first, because the message quotes the first.
  const inOrder = [
    ...chosen.filter((each) => each.code === code),
    ...chosen.filter((each) => each.code !== code),
  ];
  const details = inOrder.map((each) => each.detail);
  const unlisted = place === 'Body' ? received.unlisted : 0;
  return new AuditError(code, messageFor(details, unlisted), { details });
}

/** Known parameters are listed once, beside the first that is unknown. */
export function unknownParameters({ names, known }: UnknownParameters): ErrorDetail[] {
  const issue = 'is not a parameter of this operation';
  return names.map((name, i) => ({
    field: cutText(name),
    issue: i === 0 ? `${issue}; known are ${known.join(', ')}` : issue,
  }));
}

/** The violations of a value that is judged by itself, each with its path below `at`: `events[2].actor.actorType`. */
export function detailsBelow(faults: readonly Fault[], at: string): ErrorDetail[] {
  return faults.map((fault) => {
    const path = fieldPath(stepsOf(fault.at));
    const field = at === '' || path === '' ? at + path : `${at}${path.startsWith('[') ? '' : '.'}${path}`;
    return { field, issue: wordsOf(fault, false), ...valueOf(fault) };
  });
}

/** Several codes in one place: a code for input that was not understood wins; of several such, the place's own. */
function codeFor(place: InputPlace, codes: ReadonlySet<ErrorCode>): ErrorCode {
  const notUnderstood = [...codes].filter((code) => !isUnderstood(code));
  const [code, ...others] = notUnderstood.length > 0 ? notUnderstood : codes;
  return code === undefined || others.length > 0 ? CODE_OF_PLACE[place] : code;
}

function violation(fault: Fault, received: Received): Violation {
  const steps = stepsOf(fault.at);
  const place = received.placeOf(String(steps[0] ?? ''));
  const field = fieldPath(place === 'Body' ? steps.slice(1) : steps);
  const detail = { field, issue: wordsOf(fault, place === 'Query'), ...valueOf(fault) };
  return { place, code: fault.code ?? CODE_OF_PLACE[place], detail };
}

/** Known members are listed once an object only: it may have as many unknown ones as fit into a request. */
function wordsOf(fault: Fault, isInQuery: boolean): string {
  const issue = issueOf(fault, isInQuery);
  if (fault.isFirst !== true) return issue;
  return `${issue}; known are ${knownMembers(fault).join(', ') || 'none'}`;
}

function stepsOf(at: ValuePath | undefined): (string | number)[] {
  const steps: (string | number)[] = [];
  for (let step = at; step !== undefined; step = step.parent) steps.push(step.key);
  return steps.toReversed();
}

/** `events[2].actor.actorType`, `payload["unit price"]`. */
function fieldPath(steps: readonly (string | number)[]): string {
  let path = '';
  for (const step of steps) {
    if (typeof step === 'number') path += `[${step}]`;
    else if (/^[A-Za-z_$][\w$]*$/.test(step)) path += path === '' ? step : `.${step}`;
    else path += `[${JSON.stringify(cutText(step))}]`;
  }
  return cutText(path);
}

function valueOf({ schema, value }: Fault): { value?: unknown } {
  const isSecret =
    schema.writeOnly === true || schema.format === 'password' || mayHavePassword(schema, value);
  const isPlain = value === null || ['string', 'number', 'boolean'].includes(typeof value);
  return isSecret || !isPlain ? {} : { value: cutValue(value) };
}

/** `https://user:password@…`, also where the rest is no URL. */
function mayHavePassword({ format }: JsonSchema, value: unknown): boolean {
  return format === 'uri' && typeof value === 'string' && value.includes('@');
}

/**
 * The message of an error that is about fields. `unlisted` are violations that no detail tells of; the search for more
 * stopped at `max`.
 */
export function messageFor(
  details: readonly ErrorDetail[],
  unlisted = 0,
  max: number = LIMITS.errorDetailsMax,
): string {
  const [first] = details;
  if (first === undefined) return 'The request breaks a rule.';
  const what = first.field === '' ? 'The body' : first.field;
  const count = details.length + unlisted;
  const orMore = details.length >= max ? ' or more' : '';
  if (count === 1 && orMore === '') return `${what} ${first.issue}.`;
  return `${count}${orMore} violations; the first: ${what} ${first.issue}.`;
}
