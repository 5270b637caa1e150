// A message by its name, so that it can be made JSON in another thread, which has the plans, too.

import type { Version } from '@tallystick/contract';
import { type GrpcInterface, grpcInterface } from '@tallystick/contract/grpc';
import { messageText } from './to-json.ts';

export interface WireForm {
  readonly version: Version;
  readonly message: string;
  /** Characters of its JSON text. */
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

export function jsonOfWire(bytes: Uint8Array, { version, message, textMax }: WireForm): Uint8Array {
  const plan = interfaceOf(version).plans.messages.get(message);
  if (plan === undefined) throw new Error(`there is no message ${message}`);
  return Buffer.from(messageText(plan, bytes, { textMax }));
}
