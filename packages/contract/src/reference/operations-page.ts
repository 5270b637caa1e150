// The page of operations: the table of contents of the product, then each operation in full.

import { COMMON_ERRORS, CREDENTIAL_ERRORS, ROUTING_ERRORS, TENANT_ERRORS } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import { ANSWER_HEADERS, REQUEST_HEADERS } from '../headers.ts';
import type { Operation } from '../operation.ts';
import { answersOf, errorsOf, gapsOf, OPERATION_GROUPS, OPERATIONS, placeOf } from '../operations.ts';
import { REST_STATUS_OF_ANSWER } from '../rest-status.ts';
import { asJson } from '../schema.ts';
import { code, headingAnchor, link, page, prefix, route, rulesText, table, typeText } from './markdown.ts';

const SCHEMAS = 'schemas.md';
const SHARED_ERRORS: readonly ErrorCode[] = [
  ...ROUTING_ERRORS,
  ...COMMON_ERRORS,
  ...CREDENTIAL_ERRORS,
  ...TENANT_ERRORS,
];

const errorLink = (error: ErrorCode): string => link(code(error), `errors.md#${error.toLowerCase()}`);
const permissionText = ({ permission }: Operation): string =>
  permission === null ? 'no credential' : link(code(permission), `permissions.md#${permission}`);

function outputText({ output }: Operation): string {
  if (output.kind === 'Json') return typeText(asJson(output.schema), SCHEMAS);
  if (output.kind === 'List') return `a page of ${typeText(asJson(output.item), SCHEMAS)}`;
  return output.kind === 'Bytes' ? output.mediaTypes.map(code).join(', ') : 'nothing';
}

function inputTable(each: Operation): string {
  const { properties = {}, required = [] } = asJson(each.input);
  const rows = Object.entries(properties).map(([name, schema]) => [
    code(name) + (required.includes(name) ? '' : ' (optional)'),
    placeText(each, name),
    typeText(schema, SCHEMAS),
    rulesText(schema),
  ]);
  return rows.length === 0 ? '' : table(['input', 'in REST', 'type', 'rules'], rows);
}

function placeText(each: Operation, member: string): string {
  const place = placeOf(each, member);
  return place === 'Header' ? `header ${code(each.rest.headers?.[member] ?? '')}` : place.toLowerCase();
}

function operationSection(each: Operation): string {
  const answers = answersOf(each).map(
    ([kind, meaning]) => `${code(String(REST_STATUS_OF_ANSWER[kind]))} ${meaning}`,
  );
  const headers = Object.entries(each.rest.answerHeaders ?? {}).map(([name, text]) =>
    code(`${name}: ${text.startsWith('/') ? prefix(each) : ''}${text}`),
  );
  const others = Object.entries(each.rest.alsoAs ?? {}).map(([type, text]) => `${code(type)}: ${text}`);
  const own = errorsOf(each).filter((error) => !SHARED_ERRORS.includes(error));
  const gaps = gapsOf(each);
  const reasons = [...new Set(gaps.map(([, reason]) => reason))];
  const facts: [string, string][] = [
    ['Needs', permissionText(each) + (each.signedLink ? ', or a signed link' : '')],
    ['Output', outputText(each)],
    ['Answers', answers.join(' ')],
    ['Headers', headers.join(', ')],
    ['Also as', others.join(' ')],
    ['Errors', own.map(errorLink).join(', ')],
    ['Repeating', each.idempotency === 'Key' ? 'safe with an `Idempotency-Key`' : ''],
    [
      'Not in',
      gaps.length === 0 ? '' : `${gaps.map(([protocol]) => protocol).join(', ')}. ${reasons.join(' ')}`,
    ],
  ];
  const lines = facts.filter(([, text]) => text !== '').map(([name, text]) => `- ${name}: ${text}`);
  const parts = [
    `### ${each.name}`,
    `${each.summary}.`,
    code(route(each)),
    inputTable(each),
    lines.join('\n'),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function contentsTable(title: string, operations: readonly Operation[]): string {
  const rows = operations.map((each) => [
    link(code(each.name), headingAnchor(each.name)),
    each.summary,
    code(route(each)),
  ]);
  return `**${title}**\n\n${table(['operation', 'what it does', 'REST'], rows)}`;
}

function sharedSection(): string {
  const rows = (headers: Record<string, string>) =>
    Object.entries(headers).map(([name, note]) => [code(name), note]);
  return `## Shared by all

Request headers:

${table(['header', 'meaning'], rows(REQUEST_HEADERS))}

Answer headers, where they apply:

${table(['header', 'meaning'], rows(ANSWER_HEADERS))}

Errors that nearly every operation may answer, and that are not repeated below:
${SHARED_ERRORS.map(errorLink).join(', ')}.`;
}

export function operationsPage(): string {
  const groups = Object.entries(OPERATION_GROUPS);
  const contents = groups.map(([title, operations]) => contentsTable(title, operations));
  const sections = groups.map(([title, operations]) =>
    [`## ${title}`, ...operations.map((each: Operation) => operationSection(each))].join('\n\n'),
  );
  const introduction = `The ${OPERATIONS.length} operations of the interface. Each is one thing with one name in every protocol; where a protocol
does not have one, the reason is given.`;
  return page('Operations', introduction, [...contents, sharedSection(), ...sections]);
}
