// Addresses of the Internet Protocol, of version 4 and 6. Four numbers that belong to a version of a program, and hexadecimal
// groups of hardware addresses and times, are none.

import { isWordAt } from './borders.ts';

const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const QUAD = `${OCTET}(?:\\.${OCTET}){3}`;
/** `Chrome/120.0.0.0`, `version 1.2.3.4`, `v1.2.3.4`, `1.2.3.4.5` and `1.2.3.4-beta` are versions. */
const V4 = new RegExp(
  `(?<![\\p{L}\\p{N}_.+]|[\\p{L}\\p{N}]/|version[ :=]{1,2})${QUAD}(?![\\p{L}\\p{N}_]|\\.\\d|[+-]\\p{L})`,
  'iu',
);
const V4_WHOLE = new RegExp(`^${QUAD}$`);

const HEXADECIMAL_RUN = /[\dA-F:.]{3,}/gi;
const V6_LENGTH_MAX = 45;
const GROUP = /^[\dA-F]{1,4}$/i;

export function hasIpAddress(text: string): boolean {
  return V4.test(text) || hasV6(text);
}

function hasV6(text: string): boolean {
  if (!text.includes(':')) return false;
  for (const { 0: run, index } of text.matchAll(HEXADECIMAL_RUN)) {
    // A longer run is no address, even without the signs at its ends.
    if (run.length > V6_LENGTH_MAX + 4) continue;
    const isLed = /^:[^:]/.test(run);
    const isFree = (isLed || !isWordAt(text, index - 1)) && !isWordAt(text, index + run.length);
    if (isFree && isV6(run.slice(isLed ? 1 : 0).replace(/\.{1,3}$|(?<!:):$/, ''))) return true;
  }
  return false;
}

function isV6(address: string): boolean {
  // Names joined by `::`, such as `Abc::Def`, have no digit.
  if (address.length > V6_LENGTH_MAX || !/\d/.test(address)) return false;
  const [before = '', after, ...more] = address.split('::');
  if (more.length > 0) return false;
  const groups = [before, after ?? ''].flatMap((part) => (part === '' ? [] : part.split(':')));
  const isHardware = groups.length === 8 && groups.every((group) => group.length === 2);
  const hasQuad = V4_WHOLE.test(groups.at(-1) ?? '');
  const count = groups.length + (hasQuad ? 1 : 0);
  const plain = hasQuad ? groups.slice(0, -1) : groups;
  return (
    (after === undefined ? count === 8 : count <= 7) &&
    !isHardware &&
    plain.every((group) => GROUP.test(group))
  );
}
