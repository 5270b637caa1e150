// An operation as OpenAPI describes it: where its input travels, how it may be answered, and with which errors.

import type { AnswerKind } from '../answer.ts';
import { type ErrorCode, ERROR_CODES, ERRORS } from '../errors.ts';
import { ANSWER_HEADERS, type AnswerHeader, REQUEST_HEADERS } from '../headers.ts';
import { LIMITS } from '../limits.ts';
import { type Operation, pascalName } from '../operation.ts';
import { answersOf, errorsOf, placeOf, restBodySchema } from '../operations.ts';
import { REST_STATUS_OF_ANSWER, REST_STATUS_OF_ERROR, WORTH_RETRYING } from '../rest-status.ts';
import { asJson, type JsonSchema, type Version } from '../schema.ts';
import { ErrorBody } from '../schemas/error.ts';
import { VISIBLE_ASCII_PATTERN } from '../schemas/primitives.ts';
import type { OpenApiSchema, OpenApiSchemas } from './schemas.ts';

type Part = Readonly<Record<string, unknown>>;

export interface OperationSurroundings {
  readonly version: Version;
  readonly schemas: OpenApiSchemas;
}

/** The path as the document has it: below its version, and without the mark of a placeholder that spans segments. */
export function pathOf({ rest }: Operation, version: Version): string {
  return `${rest.atRoot ? '' : `/api/${version}`}${rest.path.replaceAll('+}', '}')}`;
}

export function operationObject(each: Operation, tag: string, around: OperationSurroundings): Part {
  const { permission } = each;
  const stem = pascalName(each.name);
  return {
    operationId: stem[0]!.toLowerCase() + stem.slice(1),
    summary: each.summary,
    description: permission === null ? 'Needs no credential.' : `Needs the permission \`${permission}\`.`,
    tags: [tag],
    security: securityOf(each),
    parameters: parametersOf(each, around),
    ...requestBodyOf(each, around),
    responses: responsesOf(each, around),
  };
}

function securityOf({ permission, signedLink }: Operation): Part[] {
  if (permission === null) return [];
  return [{ BearerToken: [] }, { ApiKey: [] }, ...(signedLink === true ? [{ SignedLink: [] }] : [])];
}

/** The members of the input outside the body, then the headers that belong to the call. */
function parametersOf(each: Operation, { schemas }: OperationSurroundings): Part[] {
  const { properties = {}, required = [] } = asJson(each.input);
  const members = Object.entries(properties).flatMap(([member, schema]): Part[] => {
    const place = placeOf(each, member);
    if (place === 'Body') return [];
    // A signature opens the link in place of a credential, and is described there.
    if (each.signedLink === true && member === 'signature') return [];
    return [
      parameter(place, each.rest.headers?.[member] ?? member, schema, required.includes(member), schemas),
    ];
  });
  return [...members, ...headersOf(each).map((name) => ({ $ref: `#/components/parameters/${name}` }))];
}

function parameter(
  place: 'Path' | 'Header' | 'Query',
  name: string,
  schema: JsonSchema,
  isRequired: boolean,
  schemas: OpenApiSchemas,
): Part {
  const described = schemas.at(schema);
  const { description, ...bare } = described;
  return {
    name,
    in: place.toLowerCase(),
    ...(description !== undefined && { description }),
    required: isRequired || place === 'Path',
    // A list is one text with commas; repeating the parameter is understood, too.
    ...(place === 'Query' && schema.type === 'array' && { style: 'form', explode: false }),
    schema: bare,
  };
}

type CallHeader = 'X-Tenant-Id' | 'X-Correlation-Id' | 'Idempotency-Key' | 'If-None-Match';

/** Also where an operation reaches beyond the tenant that the call names. */
const namesTenant = ({ tenant }: Operation) => tenant === 'Call' || tenant === 'Named';

function headersOf(each: Operation): CallHeader[] {
  const isRevalidated = answersOf(each).some(([kind]) => kind === 'Unchanged');
  return [
    ...(namesTenant(each) ? (['X-Tenant-Id'] as const) : []),
    'X-Correlation-Id',
    ...(each.idempotency === 'Key' ? (['Idempotency-Key'] as const) : []),
    ...(isRevalidated ? (['If-None-Match'] as const) : []),
  ];
}

const HEADER_RULES: Readonly<Record<CallHeader, Part>> = {
  'X-Tenant-Id': { example: 'acme' },
  'X-Correlation-Id': {
    minLength: 1,
    maxLength: LIMITS.correlationIdLengthMax,
    pattern: VISIBLE_ASCII_PATTERN,
  },
  'Idempotency-Key': {
    minLength: 1,
    maxLength: LIMITS.idempotencyKeyLengthMax,
    pattern: VISIBLE_ASCII_PATTERN,
  },
  'If-None-Match': {},
};

/** The headers of every call, as components. */
export function callHeaders(): Record<string, Part> {
  return Object.fromEntries(
    Object.entries(HEADER_RULES).map(([name, rules]) => [
      name,
      {
        name,
        in: 'header',
        description: REQUEST_HEADERS[name as CallHeader],
        required: false,
        schema: { type: 'string', ...rules },
      },
    ]),
  );
}

function requestBodyOf(each: Operation, { schemas }: OperationSurroundings): Part {
  const { body } = each.rest;
  if (body === undefined) return {};
  const { properties = {}, required = [] } = asJson(each.input);
  const schema = properties[body];
  if (schema === undefined) throw new Error(`${each.name} has no member ${body}`);
  return {
    requestBody: {
      required: required.includes(body),
      content: { 'application/json': { schema: schemas.at(schema) } },
    },
  };
}

function responsesOf(each: Operation, around: OperationSurroundings): Record<string, Part> {
  const answers = Map.groupBy(answersOf(each), ([kind]) => REST_STATUS_OF_ANSWER[kind]);
  const isVersioned = each.rest.atRoot !== true;
  const codes = [
    ...(isVersioned ? (['UNSUPPORTED_API_VERSION', 'API_VERSION_RETIRED'] as const) : []),
    ...errorsOf(each),
  ];
  const sorted = ERROR_CODES.filter((code) => codes.includes(code));
  const errors = Map.groupBy(sorted, (code) => REST_STATUS_OF_ERROR[code]);
  const statuses = [...new Set<number>([...answers.keys(), ...errors.keys()])].sort((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one of the two tables has it
      const key = status as never;
      return [String(status), response(each, status, answers.get(key) ?? [], errors.get(key) ?? [], around)];
    }),
  );
}

function response(
  each: Operation,
  status: number,
  answers: readonly [AnswerKind, string][],
  errors: readonly ErrorCode[],
  around: OperationSurroundings,
): Part {
  const meanings = [
    ...answers.map(([, meaning]) => meaning),
    ...errors.map((code) => `\`${code}\`: ${ERRORS[code].meaning}`),
  ];
  const isBare = status === REST_STATUS_OF_ANSWER.Removed || status === REST_STATUS_OF_ANSWER.Unchanged;
  const isPart = status === REST_STATUS_OF_ANSWER.Part;
  return {
    description: meanings.length === 1 ? meanings[0] : meanings.map((meaning) => `- ${meaning}`).join('\n'),
    headers: answerHeaders(each, status, answers.length > 0, errors),
    ...(!isBare && { content: isPart ? partOf(each) : contentOf(each, answers.length > 0, errors, around) }),
  };
}

function contentOf(
  each: Operation,
  isAnswer: boolean,
  errors: readonly ErrorCode[],
  { schemas }: OperationSurroundings,
): Part {
  const error = errors.length > 0 ? [schemas.at(asJson(ErrorBody))] : [];
  if (!isAnswer) return { 'application/json': { schema: error[0] } };
  const { output, rest } = each;
  if (output.kind === 'Bytes') {
    return Object.fromEntries(output.mediaTypes.map((type) => [type, { schema: schemaOfBytes(type) }]));
  }
  const body = restBodySchema(each);
  const schemasHere: OpenApiSchema[] = [...(body === undefined ? [] : [schemas.at(asJson(body))]), ...error];
  const others = Object.keys(rest.alsoAs ?? {}).map((type) => [type, { schema: { type: 'string' } }]);
  return {
    'application/json': { schema: schemasHere.length === 1 ? schemasHere[0] : { anyOf: schemasHere } },
    ...Object.fromEntries(others),
  };
}

/** A part of a file has the media type of the whole, and no form of its own: a part of JSON is no JSON. */
const partOf = ({ output }: Operation): Part =>
  output.kind === 'Bytes' ? Object.fromEntries(output.mediaTypes.map((type) => [type, {}])) : {};

/** What is JSON is read as such, whatever file it is. */
const schemaOfBytes = (mediaType: string): OpenApiSchema =>
  mediaType === 'application/json' ? {} : { type: 'string', format: 'binary' };

const VERSION_STATE = [
  'X-API-Deprecated',
  'X-API-Deprecation-Date',
  'X-API-Sunset-Date',
  'Deprecation',
  'Sunset',
] as const;
const RATES = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;

function answerHeaders(
  each: Operation,
  status: number,
  isAnswer: boolean,
  errors: readonly ErrorCode[],
): Record<string, Part> {
  const own = isAnswer ? Object.keys(each.rest.answerHeaders ?? {}) : [];
  const names = [
    'X-Correlation-Id',
    'api-supported-versions',
    ...(each.rest.atRoot === true ? [] : VERSION_STATE),
    ...(each.permission !== null ? RATES : []),
    ...own,
    ...(isAnswer && each.output.kind === 'List' ? ['Link'] : []),
    ...(status === 401 ? ['WWW-Authenticate'] : []),
    ...(errors.some((code) => WORTH_RETRYING.includes(code)) ? ['Retry-After'] : []),
  ];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

const NUMBERS: readonly string[] = [...RATES, 'Retry-After', 'X-Projection-Lag-Ms'];

/** All answer headers, as components. */
export function headerComponents(): Record<string, Part> {
  return Object.fromEntries(
    Object.entries(ANSWER_HEADERS).map(([name, description]: [string, string]) => [
      name as AnswerHeader,
      { description, schema: { type: NUMBERS.includes(name) ? 'integer' : 'string' } },
    ]),
  );
}
