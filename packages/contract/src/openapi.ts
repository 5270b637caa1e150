// The interface as an OpenAPI 3.0 document, made of the very schemas by which requests are validated.

import { EXAMPLES } from './examples.ts';
import type { Operation } from './operation.ts';
import { callHeaders, headerComponents, operationObject, pathOf } from './openapi/operations.ts';
import { OpenApiSchemas } from './openapi/schemas.ts';
import { shareResponses } from './openapi/shared-responses.ts';
import { OPERATION_GROUPS, type OperationName, operationsIn } from './operations.ts';
import { asJson, type Version } from './schema.ts';
import { forVersion } from './schema-walk.ts';
import { Notification } from './schemas/notification.ts';
import { keysOf } from './typed-object.ts';

export interface OpenApiSource {
  /** The operations that are served. */
  readonly operations: ReadonlySet<OperationName>;
  /** The version of the program, for people. */
  readonly build: string;
}

export type OpenApiDocument = Readonly<Record<string, unknown>>;

export function openApiOf(version: Version, { operations, build }: OpenApiSource): OpenApiDocument {
  const schemas = new OpenApiSchemas(EXAMPLES);
  const around = { version, schemas };
  const served = operationsIn(version).filter(({ name }) => operations.has(name));
  const described = served.map((each) => ({ each, object: objectOf(each, around) }));
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { each, object } of described) {
    const path = (paths[pathOf(each, version)] ??= {});
    path[each.rest.method.toLowerCase()] = object;
  }
  const responses = shareResponses(described.map(({ object }) => object));
  return {
    openapi: '3.0.3',
    info: {
      title: 'Tallystick',
      version: `${version.slice(1)}.0.0`,
      description: `A multi-tenant, tamper-evident audit trail. This is version ${version.slice(1)} of the interface, described by Tallystick ${build}. Instants are UTC in ISO 8601, durations ISO 8601, identifiers ULIDs unless said otherwise.`,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    servers: [{ url: '/' }],
    tags: keysOf(OPERATION_GROUPS).map((name) => ({ name })),
    paths,
    components: {
      schemas: schemas.components(),
      responses,
      parameters: callHeaders(),
      headers: headerComponents(),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

interface OperationObject extends Record<string, unknown> {
  readonly responses: Record<string, object>;
}

function objectOf(
  each: Operation<OperationName>,
  around: Parameters<typeof operationObject>[2],
): OperationObject {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every operation has responses
  const object = operationObject(each, groupOf(each.name), around) as OperationObject;
  return each.name === 'subscriptions.create' ? { ...object, callbacks: callbacksOf(around) } : object;
}

/** What is sent to a subscribed URL. */
function callbacksOf({ schemas, version }: Parameters<typeof operationObject>[2]): object {
  const schema = schemas.at(forVersion(version, asJson(Notification)));
  return {
    notification: {
      '{$request.body#/url}': {
        post: {
          summary: 'Take a notification',
          requestBody: { required: true, content: { 'application/json': { schema } } },
          responses: {
            '2XX': { description: 'It is taken. Every other answer is a failure, and it is sent again.' },
          },
        },
      },
    },
  };
}

const groups = new Map(
  Object.entries(OPERATION_GROUPS).flatMap(([title, operations]) =>
    operations.map((each): [OperationName, string] => [each.name, title]),
  ),
);
const groupOf = (name: OperationName): string => groups.get(name) ?? '';

const SECURITY_SCHEMES = {
  BearerToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'A token of an OpenID provider that the operator trusts, or of the service itself.',
  },
  ApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'An API key of the tenant, or of the platform.',
  },
  SignedLink: {
    type: 'apiKey',
    in: 'query',
    name: 'signature',
    description: 'A link that the service has signed; it is complete as it is given.',
  },
};
