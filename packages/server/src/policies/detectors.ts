// What the operator `detects` looks for: texts and numbers, anywhere below a path, that look like a card number, an e-mail
// address and so on. It tells the paths of what it finds and never the values. The time is linear in the size of the value:
// each detector looks at no character more than a fixed number of times, and no pattern repeats without a bound but a run
// of one class of characters that the next attempt does not enter again.

import type { Detector } from '@tallystick/contract';
import { formatPath, type PathStep } from '../query/field-path.ts';
import { hasCardNumber } from './detectors/card-number.ts';
import { hasEmailAddress } from './detectors/email-address.ts';
import { hasIban } from './detectors/iban.ts';
import { hasIpAddress } from './detectors/ip-address.ts';
import { hasNationalId } from './detectors/national-id.ts';
import { hasSecret } from './detectors/secret.ts';

const IN_TEXT: Readonly<Record<Detector, (text: string) => boolean>> = {
  CardNumber: hasCardNumber,
  EmailAddress: hasEmailAddress,
  Iban: hasIban,
  IpAddress: hasIpAddress,
  NationalId: (text) => hasNationalId(text, false),
  Secret: hasSecret,
};

/** What may be a number without signs and letters. */
const IN_NUMBER: Readonly<Partial<Record<Detector, (digits: string) => boolean>>> = {
  CardNumber: hasCardNumber,
  NationalId: (digits) => hasNationalId(digits, true),
};

/** Whether there is one in this value or below it. */
export function detects(detector: Detector, value: unknown): boolean {
  if (typeof value !== 'object') return isDetected(detector, value);
  if (value === null) return false;
  // Many rules ask the same of an event.
  let known = asked.get(value);
  if (known === undefined) asked.set(value, (known = new Map()));
  let found = known.get(detector);
  if (found === undefined) known.set(detector, (found = detectsIn(detector, value)));
  return found;
}

const asked = new WeakMap<object, Map<Detector, boolean>>();

function detectsIn(detector: Detector, value: object): boolean {
  if (Array.isArray(value)) return value.some((item) => detects(detector, item));
  return Object.values(value).some((member) => detects(detector, member));
}

/** The paths of all that are there, `at` being the path of the value; `max` of them at most. */
export function detectedPaths(
  detector: Detector,
  value: unknown,
  at: readonly PathStep[],
  max: number,
): string[] {
  const found: string[] = [];
  const path = [...at];
  const look = (value: unknown): void => {
    if (found.length >= max) return;
    if (typeof value !== 'object') {
      if (isDetected(detector, value)) found.push(formatPath(path));
    } else if (value !== null) {
      const isList = Array.isArray(value);
      for (const [key, member] of Object.entries(value)) {
        path.push(isList ? Number(key) : key);
        look(member);
        path.pop();
      }
    }
  };
  look(value);
  return found;
}

function isDetected(detector: Detector, value: unknown): boolean {
  if (typeof value === 'string') return IN_TEXT[detector](value);
  // No id has a fraction or a sign.
  return Number.isSafeInteger(value) && Number(value) > 0 && IN_NUMBER[detector]?.(String(value)) === true;
}
