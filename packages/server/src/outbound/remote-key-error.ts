// Why a key of a provider (keys/remote-key.ts) could not be used.

/** The message names provider and key, and says in one line what is wrong; never a secret. */
export class RemoteKeyError extends Error {
  override readonly name = 'RemoteKeyError';
}

const SAID_CHARACTERS_MAX = 300;

/** What a provider says, as a part of one line. */
export function said(text: string): string {
  return text
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, SAID_CHARACTERS_MAX);
}
