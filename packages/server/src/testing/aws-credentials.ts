// The environment in which the SDK of AWS looks for credentials, without those of the machine that runs the tests.

const OWN = {
  AWS_SECRET_ACCESS_KEY: 'a secret of the test',
  AWS_CONFIG_FILE: '/nowhere/config',
  AWS_SHARED_CREDENTIALS_FILE: '/nowhere/credentials',
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_ACCESS_KEY_ID: undefined,
  AWS_SESSION_TOKEN: undefined,
  AWS_PROFILE: undefined,
  AWS_REGION: undefined,
  AWS_DEFAULT_REGION: undefined,
  AWS_WEB_IDENTITY_TOKEN_FILE: undefined,
  AWS_CONTAINER_CREDENTIALS_FULL_URI: undefined,
  AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: undefined,
} satisfies Record<string, string | undefined>;

export interface AwsCredentials {
  /** The access key from now on; undefined: none. */
  use(accessKey: string | undefined): void;
  restore(): void;
}

export function withAwsCredentials(): AwsCredentials {
  const before = Object.keys(OWN).map((name) => [name, process.env[name]] as const);
  const become = (variables: Iterable<readonly [string, string | undefined]>) => {
    for (const [name, value] of variables) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
  return {
    use: (accessKey) =>
      become(
        Object.entries({
          ...OWN,
          AWS_ACCESS_KEY_ID: accessKey,
          ...(accessKey === undefined ? { AWS_SECRET_ACCESS_KEY: undefined } : {}),
        }),
      ),
    restore: () => become(before),
  };
}
