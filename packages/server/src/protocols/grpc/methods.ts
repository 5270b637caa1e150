// The methods that are served, by their paths: those of a version, made from the contract when they are first asked for.

import { VERSIONS, type Version } from '@tallystick/contract';
import { grpcPackage, type MethodPlan } from '@tallystick/contract/grpc';
import { messageBinding } from '../input/message-input.ts';
import { interfaceOf } from '../protobuf/wire-form.ts';
import type { ReadMethod } from './sent-message.ts';

export interface Method
  extends ReadMethod,
    Pick<MethodPlan, 'response' | 'bodyField' | 'isSafe' | 'operation' | 'method' | 'streams'> {
  readonly version: Version;
  /** In which a message must have come. */
  readonly timeoutMs: number;
}

const methods = new Map<Version, ReadonlyMap<string, Method>>();

export function methodsOf(version: Version): ReadonlyMap<string, Method> {
  const known = methods.get(version);
  if (known !== undefined) return known;
  const made = new Map(interfaceOf(version).methods.map((plan) => methodOf(version, plan)));
  methods.set(version, made);
  return made;
}

/** Undefined where there is none. */
export function methodAt(path: string): Method | undefined {
  const version = VERSIONS.find((each) => path.startsWith(`/${grpcPackage(each)}.`));
  return version && methodsOf(version).get(path);
}

function methodOf(version: Version, plan: MethodPlan): [string, Method] {
  const binding = messageBinding(plan.operation);
  const { bodyMember, limits } = binding;
  return [
    plan.path,
    { ...plan, version, binding, bodyMember, bytesMax: limits.bytesMax, timeoutMs: limits.timeoutMs },
  ];
}
