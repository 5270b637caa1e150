// From what a validator found to the one error that is answered. The code follows from where a member travelled:
// a query parameter or header that breaks a rule was not understood (400), a member of the body was (422), and an
// identifier in the path that is not well formed names nothing (404); a schema may say otherwise by
// `x-refused-as`. Values are shown where they are plain and no secret.

import type { ErrorObject } from 'ajv';
import {
  AuditError,
  cutText,
  type ErrorCode,
  type ErrorDetail,
  type JsonSchema,
  REST_STATUS_OF_ERROR,
} from '@tallystick/contract';
import type { OwnViolation, Place, Received } from '../call.ts';
import { cutValue } from './error-body.ts';
import { issueOf, knownMembers } from './issue.ts';

interface Violation {
  readonly place: Place;
  readonly code: ErrorCode;
  readonly detail: ErrorDetail;
}

const CODE_OF_PLACE = {
  Query: 'INVALID_PARAMETER',
  Header: 'INVALID_HEADER',
  Body: 'VALIDATION_FAILED',
  Path: 'ROUTE_NOT_FOUND',
} as const satisfies Record<Place, ErrorCode>;

/** What could not be understood comes before what breaks a rule, and that before what is not there. */
const PLACES: readonly Place[] = ['Query', 'Header', 'Body', 'Path'];

export function refusal(
  schema: JsonSchema,
  errors: readonly ErrorObject[],
  received: Received,
  input: unknown,
  own: readonly OwnViolation[],
): AuditError {
  const inBody = received.violations.map(
    (detail): Violation => ({ place: 'Body', code: CODE_OF_PLACE.Body, detail }),
  );
  const isInQuery = (error: ErrorObject) => received.placeOf(stepsOf(error)[0] ?? '') === 'Query';
  const unknown = unknownParameters(received.unknownParameters ?? []).map(
    (detail): Violation => ({ place: 'Query', code: CODE_OF_PLACE.Query, detail }),
  );
  const bySchema = [
    ...inBody,
    ...unknown,
    ...faultsOf(errors, isInQuery).map((fault) => violation(schema, fault, received, input)),
  ];
  // Of what the schema refuses already, a rule of the operation would say the same in other words.
  const isSaid = ({ detail }: OwnViolation) => bySchema.some((said) => said.detail.field === detail.field);
  const found = [
    ...bySchema,
    ...own
      .filter((each) => !isSaid(each))
      .map(({ member, detail }): Violation => {
        const place = received.placeOf(member);
        return { place, code: CODE_OF_PLACE[place], detail };
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

export function unknownParameters(names: readonly string[]): ErrorDetail[] {
  return names.map((name) => ({ field: cutText(name), issue: 'is not a parameter of this operation' }));
}

/** What a value breaks that is judged by itself, each with its path below `at`: `events[2].actor.actorType`. */
export function detailsBelow(errors: readonly ErrorObject[], value: unknown, at: string): ErrorDetail[] {
  return faultsOf(errors).map(({ error, issue }) => {
    const path = fieldPath(stepsOf(error), value);
    const field = at === '' || path === '' ? at + path : `${at}${path.startsWith('[') ? '' : '.'}${path}`;
    return { field, issue, ...valueOf(error) };
  });
}

/** Several codes in one place: what could not be understood (400) wins; of several such, the place's own. */
function codeFor(place: Place, codes: ReadonlySet<ErrorCode>): ErrorCode {
  const notUnderstood = [...codes].filter((code) => REST_STATUS_OF_ERROR[code] === 400);
  const [code, ...others] = notUnderstood.length > 0 ? notUnderstood : codes;
  return code === undefined || others.length > 0 ? CODE_OF_PLACE[place] : code;
}

/** What the caller did wrong: the error that tells most about it, in our words. */
interface Fault {
  readonly error: ErrorObject;
  readonly issue: string;
}

/** Rules that one fault breaks together with others, which then say more about it. */
const SAID_BETTER_BY: Readonly<Partial<Record<string, readonly string[]>>> = {
  type: ['enum', 'const'],
  minLength: ['format', 'pattern'],
  pattern: ['format'],
};

/** Known members are listed once an object only: it may have as many unknown ones as fit into a request. */
function faultsOf(
  errors: readonly ErrorObject[],
  isInQuery: (error: ErrorObject) => boolean = () => false,
): Fault[] {
  const broken = new Set(errors.map(({ keyword, instancePath }) => `${keyword} ${instancePath}`));
  const explained = new Set<string>();
  return errors.filter(isTelling).flatMap((error) => {
    const { keyword, instancePath } = error;
    const isSaid = SAID_BETTER_BY[keyword]?.some((better) => broken.has(`${better} ${instancePath}`));
    if (isSaid === true) return [];
    const issue = issueOf(error, isInQuery(error));
    if (keyword !== 'additionalProperties' || explained.has(instancePath)) return { error, issue };
    explained.add(instancePath);
    return { error, issue: `${issue}; known are ${knownMembers(error).join(', ') || 'none'}` };
  });
}

/** Of a union with null, the other branch is what the sender meant; the rest only echoes its errors. */
function isTelling({ keyword, params }: ErrorObject): boolean {
  return keyword !== 'anyOf' && keyword !== 'oneOf' && !(keyword === 'type' && params['type'] === 'null');
}

function violation(
  schema: JsonSchema,
  { error, issue }: Fault,
  received: Received,
  input: unknown,
): Violation {
  const steps = stepsOf(error);
  const member = steps[0] ?? '';
  const place = received.placeOf(member);
  const field = fieldPath(
    place === 'Body' ? steps.slice(1) : steps,
    place === 'Body' ? within(input, member) : input,
  );
  const detail = { field, issue, ...valueOf(error) };
  return { place, code: refusedAs(schema, error.schemaPath) ?? CODE_OF_PLACE[place], detail };
}

/** The path to the member that is at fault: where it stands, or where it should. */
function stepsOf({ instancePath, keyword, params }: ErrorObject): string[] {
  const steps = instancePath.split('/').slice(1);
  const unescaped = steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (keyword === 'required') unescaped.push(String(params['missingProperty']));
  if (keyword === 'additionalProperties') unescaped.push(String(params['additionalProperty']));
  if (keyword === 'discriminator') unescaped.push(String(params['tag']));
  return unescaped;
}

/** `events[2].actor.actorType`, `payload["unit price"]`. */
function fieldPath(steps: readonly string[], root: unknown): string {
  let path = '';
  let at = root;
  for (const step of steps) {
    if (Array.isArray(at)) path += `[${step}]`;
    else if (/^[A-Za-z_$][\w$]*$/.test(step)) path += path === '' ? step : `.${step}`;
    else path += `[${JSON.stringify(step)}]`;
    at = within(at, step);
  }
  return cutText(path);
}

/** Looks up rather than searches: a body may have as many members at fault as it has members. */
function within(value: unknown, step: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[step];
}

function valueOf({ keyword, params, data, parentSchema }: ErrorObject): { value?: unknown } {
  const isSecret = parentSchema?.['writeOnly'] === true || parentSchema?.['format'] === 'password';
  const value: unknown = keyword === 'discriminator' ? params['tagValue'] : data;
  const isPlain = value === null || ['string', 'number', 'boolean'].includes(typeof value);
  return isSecret || !isPlain || keyword === 'additionalProperties' ? {} : { value: cutValue(value) };
}

/** The code that the schema at fault, or the nearest one around it, asks for; some ask for some keywords only. */
function refusedAs(schema: JsonSchema, schemaPath: string): ErrorCode | undefined {
  let code: unknown;
  let at: unknown = schema;
  const steps = schemaPath.split('/').slice(1);
  for (const [index, step] of steps.entries()) {
    at = within(at, decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'));
    const keywords = within(at, 'x-refused-for');
    const isHere = index === steps.length - 2;
    if (Array.isArray(keywords) && !(isHere && keywords.includes(steps.at(-1)))) continue;
    code = within(at, 'x-refused-as') ?? code;
  }
  // The contract writes nothing else there.
  return code as ErrorCode | undefined;
}

/** The message of an error that is about fields; `unlisted` are violations that no detail tells of. */
export function messageFor(details: readonly ErrorDetail[], unlisted = 0): string {
  const [first] = details;
  if (first === undefined) return 'The request breaks a rule.';
  const what = first.field === '' ? 'The body' : first.field;
  const count = details.length + unlisted;
  return count === 1 ? `${what} ${first.issue}.` : `${count} violations; the first: ${what} ${first.issue}.`;
}
