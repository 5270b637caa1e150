// The Tallystick service, as its command uses it.

export type { ApiKeyRecord } from './access/api-keys.ts';
export type { MadeKey } from './access/key-changes.ts';
export { TOKEN_LIFETIME_SECONDS_MAX } from './access/token-lifetime.ts';
export {
  checkDatabase,
  checkStore,
  hasAnchor,
  isStore,
  plainKeyring,
  type StoreFault,
} from './check-store.ts';
export { ConfigError } from './config/config-error.ts';
export { verifyingUrl } from './config/database-urls.ts';
export { showAsJson, showAsText } from './config/show.ts';
export { keyringOf } from './keyring-place.ts';
export { linkPage } from './app/link-page.ts';
export { EXIT, loadSettings, type RunOptions, runServer } from './main.ts';
export { createKey, listKeys, makeToken, revokeKey, rotateKey } from './operate.ts';
export { backUp } from './operate/back-up.ts';
export { type Diagnosis, examine } from './operate/doctor.ts';
export { type CopiedStore, type CopyProgress, copyStore } from './operate/copy-store.ts';
export { migrate, type Migrated } from './operate/migrate.ts';
export { openRecovery, type Recovery } from './operate/recover.ts';
export { type DataRotation, rewrapKeys, type Rewrapping, rotateData } from './operate/rotate-data.ts';
export { rotateSigning, type SigningRotation } from './operate/rotate-signing.ts';
export { type BundleWish, openBundle, type OpenedBundle } from './operate/make-bundle.ts';
export { passes, readKinds } from './query/filters.ts';
export { matches } from './query/matches.ts';
export type { Query } from './query/query.ts';
export { parseQuery } from './query/query-parser.ts';
export { systemClock, wait } from './runtime/clock.ts';
export { createSystemRandom } from './runtime/random.ts';
export { StartError } from './start-error.ts';
export type { Disagreement } from './streams/anchor/comparison.ts';
export type { NewEpoch } from './streams/anchor/recovery.ts';
export { type Secrets, signatureHeaders } from './webhooks/signature.ts';
