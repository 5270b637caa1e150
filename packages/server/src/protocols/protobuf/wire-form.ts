// A message by its name, so that it can be parsed in another thread, which has the plans, too.

import { hash } from 'node:crypto';
import type { Version } from '@tallystick/contract';
import { type GrpcInterface, grpcInterface, type MessagePlan } from '@tallystick/contract/grpc';
import { type BodyRules, type ParsedBody, parseBody } from '../input/parse-body.ts';
import { messageJson, outlinedJson } from './to-json.ts';

export interface WireForm {
  readonly kind: 'Wire';
  readonly version: Version;
  readonly message: string;
  /** Bytes of its JSON text. */
  readonly textMax: number;
}

const interfaces = new Map<Version, GrpcInterface>();

/** Made when they are first asked for. */
export function interfaceOf(version: Version): GrpcInterface {
  const known = interfaces.get(version);
  if (known !== undefined) return known;
  const made = grpcInterface(version);
  interfaces.set(version, made);
  return made;
}

export function planOf(version: Version, message: string): MessagePlan {
  const plan = interfaceOf(version).plans.messages.get(message);
  if (plan === undefined) throw new Error(`there is no message ${message}`);
  return plan;
}

/**
 * The same as of its JSON text, which need not be scanned: where no JSON text stands in it, it is written as the scan would
 * write it again.
 */
export function parseWire(
  bytes: Uint8Array,
  { version, message, textMax }: WireForm,
  rules: BodyRules,
  isKeyed: boolean,
): ParsedBody {
  const plan = planOf(version, message);
  const { texts, depthMax } = rules;
  if (texts === undefined) return parseBody(messageJson(plan, bytes, { textMax }), rules, isKeyed);
  const { text, nodes, depth, isOutlined } = outlinedJson(plan, bytes, { textMax }, texts);
  if (!isOutlined || depth > depthMax) return parseBody(text, rules, isKeyed);
  const digest = isKeyed ? hash('sha256', text, 'buffer') : undefined;
  // A copy: what it was written into is larger, and is handed over to another thread as a whole.
  return { text: Uint8Array.from(text), nodes, digest, violations: [], unlisted: 0 };
}
