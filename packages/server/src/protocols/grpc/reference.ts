// The reference page of gRPC (docs/reference/grpc.md), made from the methods, statuses and limits that are served.

import { type ErrorCode, LIMITS, REST_STATUS_OF_ERROR } from '@tallystick/contract';
import { grpcInterface } from '@tallystick/contract/grpc';
import { STRANGERS_LIMITS } from '../streaming/lasting-answers.ts';
import { GRPC_STATUS_OF_ERROR, grpcStatusOf } from './error-status.ts';
import { CONNECTIONS_MAX, SESSION_LIMITS } from './http2/limits.ts';
import { JSON_BYTES_MAX } from './sent-message.ts';

const KB = 1024;
const MB = KB * KB;

const INTRODUCTION = `# gRPC

<!-- Written by packages/server/src/protocols/grpc/reference.test.ts from what is served (npm run docs). -->

The packages \`tallystick.v1\` and \`tallystick.v2\`, from one code in three ways: gRPC on the port that \`Grpc__Port\` names, Connect and gRPC-Web there and on
the port of REST. [The guide](../guides/grpc.md) begins with a call; the messages are in the [\`.proto\` files](../../packages/contract/interfaces/README.md), and
what each method does is on the [page of operations](operations.md).

## Metadata

| key | what |
|---|---|
| \`authorization\`, \`x-api-key\` | the credential, as in REST |
| \`x-tenant-id\` | the tenant |
| \`idempotency-key\` | recognises a repeat of a call that writes; in \`IngestStream\` each message has a field for it |
| \`grpc-timeout\`, \`connect-timeout-ms\` | how long the caller waits: then the work stops, and the status is \`DEADLINE_EXCEEDED\`. What was being stored may be stored: repeat it with its key |
| \`grpc-encoding\`, \`connect-content-encoding\` | \`gzip\`, of messages that are sent; answers are not compressed |
| \`x-correlation-id\`, \`traceparent\` | as in REST |

Answers have \`x-correlation-id\`, \`tallystick-answer\` (\`Created\`, \`Repeated\`, …) and, where a rate is limited, \`x-ratelimit-*\`. The entity tag is the field \`etag\`, what a change
expects \`if_match\`.`;

const ERRORS_TEXT = `## Statuses

A status says what kind of error it is; the code of the [catalogue](errors.md) is in its details, of which there are up to four: \`google.rpc.ErrorInfo\` (the code as \`reason\`, in the domain
\`tallystick\`, with the ids of the request), \`ErrorInfo\` of our package (all that the error body of REST has), \`google.rpc.BadRequest\` (each field that breaks a
rule) and \`google.rpc.RetryInfo\` (when to come again). Lists end where the trailers would be too long for clients.

\`MALFORMED_JSON\` is said of every message that cannot be read, also in Protocol Buffers; the text says what is unsound in it. A code that is not listed is \`INVALID_ARGUMENT\`.`;

export function renderReference(): string {
  return `${[INTRODUCTION, methodsSection(), ERRORS_TEXT, statusTable(), limitsSection()].join('\n\n')}\n`;
}

function methodsSection(): string {
  const older = new Set(grpcInterface('v1').methods.map(methodName));
  const rows = grpcInterface('v2').methods.map((each) => [
    `\`${methodName(each)}\``,
    each.operation.name,
    each.operation.permission === null ? '' : `\`${each.operation.permission}\``,
    [
      ...(each.streams?.client === true ? ['messages in'] : []),
      ...(each.streams?.server === true ? ['messages out'] : []),
      ...(each.isSafe ? ['GET by Connect'] : []),
      ...(older.has(methodName(each)) ? [] : ['v2 only']),
    ].join(', '),
  ]);
  return `## Methods

${table(['method', 'operation', 'permission', ''], rows)}

Beside them \`grpc.health.v1.Health\` (\`Check\`, \`Watch\`) and \`ServerReflection\` of \`grpc.reflection.v1\` and \`v1alpha\`, on the port of gRPC, without a credential.`;
}

const methodName = ({ service, method }: { readonly service: string; readonly method: string }) =>
  `${service}/${method}`;

function statusTable(): string {
  const codes = Object.keys(GRPC_STATUS_OF_ERROR) as ErrorCode[];
  const byStatus = Map.groupBy(codes, (code) => grpcStatusOf(code));
  const rows = [...byStatus].toSorted(([one], [other]) => one.number - other.number);
  return table(
    ['status', 'HTTP over Connect', 'codes'],
    rows.map(([{ number, word, httpStatus }, its]) => [
      `${number} \`${word.toUpperCase()}\``,
      String(httpStatus),
      its
        .toSorted((one, other) => REST_STATUS_OF_ERROR[one] - REST_STATUS_OF_ERROR[other])
        .map((code) => `\`${code}\``)
        .join(', '),
    ]),
  );
}

function limitsSection(): string {
  const { settings } = SESSION_LIMITS;
  const rows: [string, string][] = [
    [
      'a message',
      `${LIMITS.requestBytesMax / MB} MB; of \`IngestBatch\` and \`IngestStream\` ${LIMITS.batchBytesMax / MB} MB; in JSON ${JSON_BYTES_MAX / MB} MB`,
    ],
    ['connections', String(CONNECTIONS_MAX)],
    ['calls of a connection at a time', String(settings?.maxConcurrentStreams)],
    ['the headers of a call', `${LIMITS.headerBlockBytesMax / KB} KB`],
    ['window of a call', `${(settings?.initialWindowSize ?? 0) / KB} KB`],
    [
      '`Tail` and `IngestStream`, with the streams of other protocols',
      `${LIMITS.lastingAnswersPerTenantMax} of a tenant, ${LIMITS.lastingAnswersMax} of a node; each for ${LIMITS.lastingAnswerMsMax / 60_000} minutes`,
    ],
    [
      '`Health/Watch` and reflection',
      `${STRANGERS_LIMITS.perOwnerMax} of a sender, ${STRANGERS_LIMITS.max} of a node`,
    ],
    [
      'calls that are reset at once',
      `${SESSION_LIMITS.streamResetBurst}, and ${SESSION_LIMITS.streamResetRate} a second; then the connection ends`,
    ],
  ];
  return `## Limits

${table(['what', 'at most'], rows)}

Everything else is [as in REST](limits.md).`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}
