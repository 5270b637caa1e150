// Hexadecimal that we wrote, such as the state of a hash. What a verifier reads comes in base64.

import { malformed } from '../errors.ts';

/** Lowercase only. */
export function fromHex(text: string): Uint8Array {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/.test(text)) throw malformed('not lowercase hexadecimal');
  const bytes = new Uint8Array(text.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}
