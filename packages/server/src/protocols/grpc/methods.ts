// The methods that are served, by their paths: those of both versions, made from the contract when the first call comes.

import { VERSIONS, type Version } from '@tallystick/contract';
import type { MethodPlan } from '@tallystick/contract/grpc';
import { messageBinding, type MessageBinding } from '../input/message-input.ts';
import { interfaceOf } from '../protobuf/wire-form.ts';
import type { ReadMethod } from './sent-message.ts';

export interface Method
  extends ReadMethod,
    Pick<MethodPlan, 'response' | 'bodyField' | 'isSafe' | 'operation' | 'method' | 'streams'> {
  readonly version: Version;
  readonly binding: MessageBinding;
  /** In which a message must have come. */
  readonly timeoutMs: number;
}

let methods: ReadonlyMap<string, Method> | undefined;

/** Undefined where there is none. */
export function methodAt(path: string): Method | undefined {
  methods ??= new Map(
    VERSIONS.flatMap((version) => interfaceOf(version).methods.map((plan) => methodOf(version, plan))),
  );
  return methods.get(path);
}

function methodOf(version: Version, plan: MethodPlan): [string, Method] {
  const binding = messageBinding(plan.operation);
  const { bodyMember, limits } = binding;
  return [
    plan.path,
    { ...plan, version, binding, bodyMember, bytesMax: limits.bytesMax, timeoutMs: limits.timeoutMs },
  ];
}
