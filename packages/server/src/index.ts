// The Tallystick service, as its command uses it.

export type { ApiKeyRecord } from './access/api-keys.ts';
export type { MadeKey } from './access/key-changes.ts';
export { TOKEN_LIFETIME_SECONDS_MAX } from './access/local-issuer.ts';
export { ConfigError } from './config/config-error.ts';
export { showAsJson, showAsText } from './config/show.ts';
export { EXIT, loadSettings, type RunOptions, runServer } from './main.ts';
export { createKey, type ListedKey, listKeys, makeToken, migrate, revokeKey, rotateKey } from './operate.ts';
export { StartError } from './start-error.ts';
