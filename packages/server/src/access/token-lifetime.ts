// How long a token may live. In a file of its own, so that a command that signs none does not load what signing takes.

/** A single token cannot be revoked; for longer use there are API keys. */
export const TOKEN_LIFETIME_SECONDS_MAX = 86_400;
