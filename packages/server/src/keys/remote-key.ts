// A key that never leaves its provider, such as AWS KMS or a Vault: it encrypts a few bytes, and decrypts them for callers whom the
// provider lets. What stands in `BoundTo` is authenticated with them, and stands in the audit trail of the provider.

export type BoundTo = Readonly<Record<string, string>>;

/** An error names provider and key, and says in one line what is wrong; never a secret. */
export interface RemoteKey {
  readonly provider: 'AwsKms' | 'Vault';
  encrypt(bytes: Uint8Array, boundTo: BoundTo): Promise<Uint8Array>;
  decrypt(encrypted: Uint8Array, boundTo: BoundTo): Promise<Uint8Array>;
}
