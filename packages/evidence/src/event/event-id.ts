// An event's identifier is a ULID: 26 Crockford base 32 digits in the interface, 16 bytes in the entry.

export const EVENT_ID_DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
export function eventIdText(bytes: Uint8Array): string {
  // All digits at once: a string that grows digit by digit is a chain of strings.
  const codes: number[] = [];
  let bits = 0;
  let bitCount = 2;
  for (let i = 0; i < 16; i++) {
    bits = (bits << 8) | bytes[i]!;
    bitCount += 8;
    while (bitCount >= 5) {
      bitCount -= 5;
      codes.push(EVENT_ID_DIGITS.charCodeAt(bits >>> bitCount));
      bits &= (1 << bitCount) - 1;
    }
  }
  return String.fromCharCode(...codes);
}
