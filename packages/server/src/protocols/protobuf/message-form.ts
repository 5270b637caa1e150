// What a message of a call is, where it is read in another thread: the body on the wire, or all of it in JSON, from which the
// body is cut out first.

import type { Version } from '@tallystick/contract';
import { type BodyRules, type ParsedBody, parseBody, type WholeBody } from '../input/parse-body.ts';
import { fromProtoJson } from './json-form.ts';
import { parseWire, planOf, type WireForm } from './wire-form.ts';

export interface JsonForm {
  readonly kind: 'Json';
  readonly version: Version;
  readonly message: string;
  /** Undefined where it has no body. */
  readonly bodyMember: string | undefined;
}

export type MessageForm = WireForm | JsonForm;

export function parseMessage(
  bytes: Uint8Array,
  form: MessageForm,
  rules: BodyRules,
  isKeyed: boolean,
): ParsedBody {
  return form.kind === 'Wire' ? parseWire(bytes, form, rules, isKeyed) : parseSplit(bytes, form, rules);
}

/** As texts: values of tens of thousands of keys would hold the thread that gets them. */
export interface SplitJson {
  readonly members: string;
  /** Undefined where it was not sent. */
  readonly body: string | undefined;
}

/** The value is a SplitJson, or undefined: the message is no object, or breaks rules of JSON. */
export function parseSplit(
  bytes: Uint8Array,
  { version, message, bodyMember }: JsonForm,
  rules: BodyRules,
): WholeBody {
  const parsed = parseBody(bytes, { ...rules, texts: undefined }, false);
  const { digest, violations, unlisted } = parsed;
  const isSound = 'value' in parsed && violations.length === 0;
  const value = isSound ? fromProtoJson(planOf(version, message), parsed.value) : undefined;
  return { value: isMembers(value) ? split(value, bodyMember) : undefined, digest, violations, unlisted };
}

type Members = Readonly<Record<string, unknown>>;

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function split(value: Members, bodyMember = ''): SplitJson {
  const { [bodyMember]: body, ...members } = value;
  return {
    members: JSON.stringify(members),
    body: body === undefined ? undefined : JSON.stringify(body),
  };
}
