// E-mail addresses as they are in use: a local part without quotes, and a domain with a name at its top.

const LOCAL = /[\p{L}\p{N}!#$%&'*+/=?^_`{|}~.-]/u;
const LOCAL_LENGTH_MAX = 64;
const DOMAIN = /[\p{L}\p{N}.-]/u;
const DOMAIN_LENGTH_MAX = 253;
const LABEL = /^[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?$/u;
const TOP_LABEL = /^(?:\p{L}{2,63}|xn--[a-z\d-]{1,59})$/iu;
/** `icon@2x.png` is a picture for screens of twice the density. */
const PICTURE = /^[1-9]x\.(?:png|jpe?g|gif|svg|webp)$/i;

export function hasEmailAddress(text: string): boolean {
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1))
    if (hasLocalPart(text, at) && hasDomain(text, at + 1)) return true;
  return false;
}

/** Whether one ends at the sign. No part of an address has the sign in it, so no character is looked at for a third time. */
function hasLocalPart(text: string, end: number): boolean {
  let start = end;
  while (start > 0 && end - start <= LOCAL_LENGTH_MAX && LOCAL.test(text[start - 1]!)) start--;
  const local = text.slice(start, end).replace(/^\.{1,64}/, '');
  return local !== '' && local.length <= LOCAL_LENGTH_MAX && !local.endsWith('.') && !local.includes('..');
}

function hasDomain(text: string, start: number): boolean {
  let end = start;
  while (end < text.length && end - start <= DOMAIN_LENGTH_MAX && DOMAIN.test(text[end]!)) end++;
  // The stop of a sentence is no part of it.
  const domain = text.slice(start, end).replace(/[.-]{1,4}$/, '');
  const labels = domain.split('.');
  return (
    labels.length >= 2 &&
    domain.length <= DOMAIN_LENGTH_MAX &&
    labels.every((label) => LABEL.test(label)) &&
    TOP_LABEL.test(labels.at(-1)!) &&
    !PICTURE.test(domain)
  );
}
