// The authenticated party of a call: what a credential, once verified, says about whoever sent it.

import type { Classification, Permission, TenantId } from '@tallystick/contract';

export interface Caller {
  /** `key:<keyId>` or `token:<issuer>#<subject>`: what events record as `submittedBy`. */
  readonly name: string;
  /** The tenant that the credential is for; `*` for a platform key, undefined for a token that names none. */
  readonly tenant: TenantId | '*' | undefined;
  /** A token's claim names the tenant of a call; the tenant that a key is bound to does not. */
  readonly namesTenant: boolean;
  /** The highest classification that is shown unredacted. */
  readonly clearance: Classification;
  /** Why the caller may not, or undefined when it may. */
  readonly refusal: (permission: Permission) => 'FORBIDDEN' | 'INSUFFICIENT_SCOPE' | undefined;
}
