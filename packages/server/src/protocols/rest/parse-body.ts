// The bytes of a body, counted, scanned and made into what the gateway works with: a pure function whose result can be
// handed from one thread to another, because a large body is parsed off the HTTP thread. What is understood in
// part is listed as violations (422); what is not has one way to be refused (400): REQUEST_TOO_LARGE, MALFORMED_JSON.

import { AuditError, cutText, type ErrorDetail, LIMITS } from '@tallystick/contract';
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

export interface BodyRules {
  readonly depthMax: number;
  /** How many broken rules of JSON are listed. */
  readonly violationsMax: number;
  /** Members whose text is enough; undefined where there are none. */
  readonly texts: TextMembers | undefined;
  /** The names of all members that the operation knows, wherever they stand. */
  readonly knownNames: readonly string[];
}

export type ParsedBody = OutlinedBody | TakenApartBody;

/** A body with which nothing is wrong, as its RFC 8785 text and the outline of that. No value is made of it yet. */
export interface OutlinedBody {
  readonly canonical: Uint8Array;
  readonly nodes: Int32Array;
}

/** Any other body. */
export interface TakenApartBody {
  /** Without what is kept as text, so that little is left to clone for another thread. */
  readonly value: unknown;
  readonly kept: readonly KeptMember[];
  /** As it was sent, and its RFC 8785 text: one of them, where the request has an idempotency key. */
  readonly bytes: Uint8Array | undefined;
  readonly canonical: Uint8Array | undefined;
  readonly violations: readonly ErrorDetail[];
  /** How many more there are than are listed. */
  readonly unlisted: number;
}

export interface KeptMember {
  /** Which item of the list has it; undefined: the body itself. */
  readonly item: number | undefined;
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** `isKeyed`: the request has an idempotency key, so it must be known again. Throws AuditError. */
export function parseBody(bytes: Uint8Array, rules: BodyRules, isKeyed: boolean): ParsedBody {
  if (bytes.length > FEW_VALUES_BYTES) checkCount(bytes, rules.texts);
  return (rules.texts && outline(bytes, rules, rules.texts)) ?? takeApart(bytes, rules, isKeyed);
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

/** The quick way, for bodies with which nothing is wrong; undefined decides nothing. */
function outline(bytes: Uint8Array, { depthMax }: BodyRules, texts: TextMembers): OutlinedBody | undefined {
  const canonical = canonicalBytes(bytes, { depthMax, outlineLevels: texts.levels });
  return canonical && { canonical: canonical.bytes, nodes: canonical.outline.nodes };
}

function takeApart(bytes: Uint8Array, rules: BodyRules, isKeyed: boolean): TakenApartBody {
  const scan = scanJson(bytes, rules);
  checkSyntax(scan);
  const { violations, unlisted, tooDeep = 0 } = scan;
  const details = violations.map(detailOf);
  if (tooDeep > PARSED_DEPTH_MAX) throw nestedTooDeep(details);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const whole = valueOf(text, details);
  const { value, kept } = rules.texts === undefined ? { value: whole, kept: [] } : apart(whole, rules.texts);
  // One that is too large is refused, so there is no need to know it again by what it means.
  const isFormed =
    isKeyed && details.length === 0 && !kept.some(({ bytes }) => bytes.length > KEPT_BYTES_MAX);
  const canonical = isFormed ? Buffer.from(canonicalJson(whole)) : undefined;
  const known = isKeyed && !isFormed ? bytes : undefined;
  const trimmed = trim(value, new Set(rules.knownNames));
  return { value: trimmed, kept, canonical, bytes: known, violations: details, unlisted };
}

/** An object of the contract has fewer; one that has more is refused, and an error lists no more of its members. */
const MEMBERS_MAX = 2 * LIMITS.errorDetailsMax;

/** Without most of the unknown members of an object that has too many: all of them would take long to clone. */
function trim(value: unknown, known: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => trim(item, known));
  if (!isObject(value)) return value;
  const names = Object.keys(value);
  let unknown = 0;
  const listed =
    names.length <= MEMBERS_MAX ? names : names.filter((name) => known.has(name) || ++unknown <= MEMBERS_MAX);
  return Object.fromEntries(listed.map((name) => [name, trim(value[name], known)]));
}

type Apart = Pick<TakenApartBody, 'value' | 'kept'>;

/** The value, and what is kept as text beside it. */
function apart(value: unknown, { names, list }: TextMembers): Apart {
  if (list === undefined) return withoutKept(value, names, undefined);
  const items = isObject(value) ? value[list.name] : undefined;
  if (!Array.isArray(items)) return { value, kept: [] };
  const parts = items.map((item: unknown, index) => withoutKept(item, names, index));
  return {
    value: { ...(value as object), [list.name]: parts.map((part) => part.value) },
    kept: parts.flatMap((part) => part.kept),
  };
}

function withoutKept(value: unknown, names: readonly string[], item: number | undefined): Apart {
  if (!isObject(value)) return { value, kept: [] };
  const rest = { ...value };
  const kept: KeptMember[] = [];
  for (const name of names) {
    const member = Object.hasOwn(value, name) ? value[name] : undefined;
    // That it is a list is all that matters of it: it must be an object.
    if (Array.isArray(member)) rest[name] = [];
    if (!isObject(member)) continue;
    delete rest[name];
    kept.push({ item, name, bytes: Buffer.from(keptText(member)) });
  }
  return { value: rest, kept };
}

/** What is larger is refused, as context and as payload. */
const KEPT_BYTES_MAX = Math.max(LIMITS.payloadBytesMax, LIMITS.contextBytesMax);

/** The RFC 8785 text where there is one, and where it is not too large: then only its size matters. */
function keptText(member: object): string {
  const text = JSON.stringify(member);
  if (text.length > KEPT_BYTES_MAX) return text;
  try {
    return canonicalJson(member);
  } catch (cause) {
    if (!(cause instanceof EvidenceError)) throw cause;
    return text;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
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

export function malformed(message: string): AuditError {
  return new AuditError('MALFORMED_JSON', message);
}
