// The bytes of a body, counted, scanned and made into what the gateway works with: a pure function whose result can be
// handed from one thread to another, because a large body is parsed off the HTTP thread. The faults of a body
// that is JSON are listed as violations (422); any other body is refused (400): REQUEST_TOO_LARGE, MALFORMED_JSON.

import { ok as assert } from 'node:assert/strict';
import { hash } from 'node:crypto';
import { AuditError, cutText, type ErrorDetail, type JsonSchema, LIMITS } from '@tallystick/contract';
import {
  canonicalBytes,
  canonicalJson,
  countValues,
  EvidenceError,
  type JsonScan,
  type JsonViolation,
  parseJson,
  scanJson,
} from '@tallystick/evidence';
import type { TextMembers } from './text-members.ts';
import { trimValue } from './trim-value.ts';

export interface BodyRules {
  readonly depthMax: number;
  /** How many broken rules of JSON are listed. */
  readonly violationsMax: number;
  /** Members whose text is enough; undefined where there are none. */
  readonly texts: TextMembers | undefined;
  /** What the body should be. */
  readonly schema: JsonSchema;
}

export type ParsedBody = OutlinedBody | WholeBody;

/** What is known of any body. */
interface KnownBody {
  /** SHA-256 of its RFC 8785 text, or of its bytes where it has none; where the request has an idempotency key. */
  readonly digest: Uint8Array | undefined;
  readonly violations: readonly ErrorDetail[];
  /** How many more there are than are listed. */
  readonly unlisted: number;
}

/** A body with members that are kept as text. No value is made of it yet. */
export interface OutlinedBody extends KnownBody {
  /** Its RFC 8785 text, as far as there is one, and the outline of that. */
  readonly text: Uint8Array;
  readonly nodes: Int32Array;
}

/** Any other body. */
export interface WholeBody extends KnownBody {
  readonly value: unknown;
}

/** `isKeyed`: the request has an idempotency key, so it must be known again. Throws AuditError. */
export function parseBody(bytes: Uint8Array, rules: BodyRules, isKeyed: boolean): ParsedBody {
  if (bytes.length > FEW_VALUES_BYTES) checkCount(bytes, rules.texts);
  return rules.texts === undefined
    ? parseWhole(bytes, rules, isKeyed)
    : outline(bytes, rules, rules.texts, isKeyed);
}

/** A value takes two bytes at least, with what stands between it and the next. */
const FEW_VALUES_BYTES = 2 * LIMITS.requestValuesMax;
const NONE = { names: [], list: undefined };

/** Before anything is made of the body: the cost of refusing it must not grow with what it claims to be. */
function checkCount(bytes: Uint8Array, { names, list }: Pick<TextMembers, 'names' | 'list'> = NONE): void {
  const { values, items } = countValues(bytes, { names, listName: list?.name });
  const hasTooManyItems = list !== undefined && items > list.maxItems;
  if (!hasTooManyItems && values <= LIMITS.requestValuesMax) return;
  checkSyntax(scanJson(bytes, { depthMax: 0 }));
  if (hasTooManyItems) {
    const issue = `must have ${list.minItems} to ${list.maxItems} items; it has ${items}`;
    const details = [{ field: list.name, issue }];
    throw new AuditError(list.refusedAs, `${list.name} ${issue}.`, { details });
  }
  const outside = names.length === 0 ? '' : ` outside of ${names.join(' and ')}`;
  const limit = `the limit is ${LIMITS.requestValuesMax}`;
  throw new AuditError('REQUEST_TOO_LARGE', `The body has ${values} JSON values${outside}; ${limit}.`);
}

function checkSyntax({ syntax }: JsonScan): void {
  if (syntax === undefined) return;
  throw malformed(`The body is not JSON: line ${syntax.line}, column ${syntax.column}: ${syntax.issue}.`);
}

function outline(bytes: Uint8Array, rules: BodyRules, texts: TextMembers, isKeyed: boolean): OutlinedBody {
  const { levels: outlineLevels, keys: closedKeys } = texts;
  const written = canonicalBytes(bytes, {
    depthMax: rules.depthMax,
    outlineLevels,
    closedKeys,
    isLenient: true,
  });
  const isCanonical = written?.isCanonical === true;
  // Where nothing was written, the body is refused for something else than its keys.
  const { details, unlisted } = isCanonical ? SOUND : scan(bytes, rules, written?.repeatedKeys ?? NO_KEYS);
  // A body that is no JSON, nested too deep or too large for an outline has been refused.
  assert(written !== undefined, 'a body that is understood has an outline');
  return {
    text: written.bytes,
    nodes: written.outline.nodes,
    digest: isKeyed ? hash('sha256', isCanonical ? written.bytes : bytes, 'buffer') : undefined,
    violations: details,
    unlisted,
  };
}

const SOUND = { details: [], unlisted: 0 };
const NO_KEYS = new Int32Array(0);

/** The rules of JSON that are broken. */
function scan(bytes: Uint8Array, { depthMax, violationsMax }: BodyRules, repeatedKeys?: Int32Array) {
  const found = scanJson(bytes, {
    depthMax,
    violationsMax,
    ...(repeatedKeys === undefined ? {} : { repeatedKeys }),
  });
  checkSyntax(found);
  const details = found.violations.map(detailOf);
  if ((found.tooDeep ?? 0) > PARSED_DEPTH_MAX) throw nestedTooDeep(details);
  return { details, unlisted: found.unlisted };
}

function parseWhole(bytes: Uint8Array, rules: BodyRules, isKeyed: boolean): WholeBody {
  const { details, unlisted } = scan(bytes, rules);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const value = valueOf(text, details);
  const form = isKeyed && details.length === 0 ? canonicalJson(value) : bytes;
  const digest = isKeyed ? hash('sha256', form, 'buffer') : undefined;
  return { value: trimValue(value, rules.schema), digest, violations: details, unlisted };
}

/** Nothing is made of a body that is nested deeper. */
const PARSED_DEPTH_MAX = 200;

function nestedTooDeep(details: readonly ErrorDetail[]): AuditError {
  const message = `The body is nested deeper than ${LIMITS.nestingDepthMax} levels, too deep to be read.`;
  return new AuditError('VALIDATION_FAILED', message, { details });
}

/** JSON may be nested so deep that nothing can be made of it but the list of what is wrong. */
function valueOf(text: string, details: readonly ErrorDetail[]): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    if (!(cause instanceof EvidenceError)) throw cause;
    throw nestedTooDeep(details);
  }
}

function detailOf({ path, issue: found, value }: JsonViolation): ErrorDetail {
  // The scanner counts from the outermost level of the body, the rule from that of an event.
  const isNesting = found.startsWith('is nested deeper');
  const issue = isNesting ? `is nested deeper than ${LIMITS.nestingDepthMax} levels` : found;
  const field = cutText(path);
  return value === undefined ? { field, issue } : { field, issue, value };
}

function malformed(message: string): AuditError {
  return new AuditError('MALFORMED_JSON', message);
}
