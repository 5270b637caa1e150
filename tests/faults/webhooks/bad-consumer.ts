// What a bad consumer does to the deliveries of one subscription, and what the service must show.

import type { ScriptedOptions, Script } from '../../../packages/server/src/testing/scripted-consumer.ts';

export interface Seen {
  readonly status: 'Acknowledged' | 'DeadLettered';
  readonly attempts: number;
  /** The fault of each failed attempt. */
  readonly fault?: RegExp;
  /** That of the last attempt. */
  readonly responseStatus?: number;
}

export interface BadConsumer {
  readonly name: string;
  readonly consumer: ScriptedOptions;
  /** Further members of its subscription. */
  readonly subscription?: object;
  /** The host in its URL; its address, if absent. */
  readonly host?: string;
  readonly scheme?: 'http' | 'https';
  /** Called once the subscription is made, before anything is sent. */
  readonly moves?: () => void;
  readonly seen: Seen;
  /** One after the other; 1 unless given. */
  readonly events?: number;
  /** Between the first attempt and the second. */
  readonly gapMs?: readonly [min: number, max: number];
  /** It gets no request at all. */
  readonly isUnasked?: boolean;
}

export const ATTEMPTS = 10;
/** For consumers that take too long; the others get the maximum. */
export const HURRIED = { timeoutSeconds: 1 };

export function acknowledged(name: string, script: Script, responseStatus = 200): BadConsumer {
  return {
    name,
    consumer: { scripts: [script] },
    seen: { status: 'Acknowledged', attempts: 1, responseStatus },
  };
}

/** Each attempt ends with this fault, until there are no more. */
export function failing(name: string, script: Script, fault: RegExp): BadConsumer {
  return {
    name,
    consumer: { scripts: [script] },
    seen: { status: 'DeadLettered', attempts: ATTEMPTS, fault },
  };
}

/** Answers each attempt with this status, which is not a success. */
export function refusing(name: string, script: Script, responseStatus: number): BadConsumer {
  const { seen, ...consumer } = failing(name, script, /^Status$/);
  return { ...consumer, seen: { ...seen, responseStatus } };
}

/** Answers the first attempt like this, and the next one with 200. */
export function once(name: string, first: Script, then: Script, responseStatus = 200): BadConsumer {
  const { seen, ...consumer } = acknowledged(name, then, responseStatus);
  return {
    ...consumer,
    consumer: { scripts: [first, then] },
    seen: { ...seen, attempts: 2, fault: /./ },
  };
}
