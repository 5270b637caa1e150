// How long a token may live. In a file of its own, so that a command that signs none does not load what signing takes.

/** A token cannot be revoked by itself; what is to last longer is an API key. */
export const TOKEN_LIFETIME_SECONDS_MAX = 86_400;
