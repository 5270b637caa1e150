// The one way out over TCP that is no HTTP: connections to hosts that tenants name. The addresses of a name are judged as those of a URL
// are (http/DESIGN.md), and the connection goes to exactly these.

import { isIP, type Socket } from 'node:net';
import type { Clock } from '../runtime/clock.ts';
import type { AddressRule } from './http/address-rules.ts';
import { noAddress } from './http/address-rules.ts';
import { openTcp } from './http/connect.ts';
import { Course } from './http/course.ts';
import { Dialer } from './http/dialer.ts';
import { OutboundError } from './http/outbound-error.ts';
import type { Resolve } from './http/resolve.ts';
import { type Target, targetOf } from './http/target.ts';

export interface Host {
  readonly host: string;
  readonly port: number;
}

export interface OpenOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface GuardedSockets {
  /** Why this host must not be connected to, by what is known now. */
  judge(host: Host): Promise<string | undefined>;
  /** Rejects with OutboundError, or with the reason of the signal. */
  open(host: Host, options: OpenOptions): Promise<Socket>;
}

export interface GuardedSocketParts {
  readonly clock: Clock;
  readonly rule: AddressRule;
  readonly resolve: Resolve;
}

/** Somebody waits for the answer; it is judged again when it is used. */
const JUDGE_MS = 2000;

export function createGuardedSockets({ clock, rule, resolve }: GuardedSocketParts): GuardedSockets {
  // Who has the socket knows when it has waited for too long.
  const idleMs = 0;
  const dialer = new Dialer({ clock, resolve }, idleMs);
  const within = async <T>(
    timeoutMs: number,
    course: Course,
    work: () => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> => {
    const timer = clock.after(timeoutMs, () =>
      course.end(course.error('Timeout', `no connection within ${timeoutMs} ms`)),
    );
    const abort = () => course.end(signal!.reason as Error);
    if (signal?.aborted === true) abort();
    signal?.addEventListener('abort', abort);
    try {
      return await work();
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', abort);
    }
  };
  return {
    async judge(host) {
      const course = new Course(clock);
      try {
        await within(JUDGE_MS, course, async () => dialer.addressesOf(targetAt(host, rule), course));
        return undefined;
      } catch (error) {
        const isRefused = error instanceof OutboundError && error.fault === 'NotAllowed';
        return isRefused ? refusal(rule) : undefined;
      }
    },
    async open(host, { timeoutMs, signal }) {
      const course = new Course(clock);
      const work = async () => {
        const target = targetAt(host, rule);
        const addresses = await dialer.addressesOf(target, course);
        course.enter('Connect');
        return openTcp({ addresses, port: target.port, idleMs }, course);
      };
      try {
        return await within(timeoutMs, course, work, signal);
      } catch (cause) {
        if (signal.aborted) throw signal.reason;
        if (!(cause instanceof OutboundError)) throw connectFault(course, cause);
        throw cause.fault === 'NotAllowed' ? course.error('NotAllowed', refusal(rule), cause) : cause;
      }
    },
  };
}

/** The parser of URLs brings all notations of an address into the usual one, so that there is one form to judge. */
function targetAt({ host, port }: Host, rule: AddressRule): Target {
  const written = isIP(host) === 6 ? `[${host}]` : host;
  return targetOf(`http://${written}:${port}`, { http: rule, https: noAddress });
}

function refusal({ words }: AddressRule): string {
  return `is no host, or leads to an address that is not ${words}`;
}

/** Of an error of Node: the message may name addresses, and stays in the cause. */
function connectFault(course: Course, cause: unknown): OutboundError {
  return course.phase === 'Dns'
    ? course.error('Dns', 'the name of the host leads to no address', cause)
    : course.error('Connect', 'the host cannot be connected to', cause);
}
