// Whatever a decoder throws means that a block is not what was written. It becomes the error that says which segment that is,
// so that the segment is made again; a search never fails by anything else that a block holds.

/** Gives the error that is thrown in place of that of a decoder. */
export type AsDamage = (cause: unknown) => unknown;

export function decoded<T>(decode: () => T, asDamage: AsDamage): T {
  try {
    return decode();
  } catch (error) {
    throw asDamage(error);
  }
}

/** Of what nobody but this process has written: a fault is its own. */
export const AS_IT_IS: AsDamage = (cause) => cause;

/** Decoders say by it what they rely on. */
export function requireSound(isSound: boolean, what: string): void {
  if (!isSound) throw new Error(`the index has ${what}`);
}
