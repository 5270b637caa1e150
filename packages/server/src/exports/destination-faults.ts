// What no schema can say of a destination, as far as its text alone tells. Values are not repeated: some of them are secrets.

import type { ErrorDetail } from '@tallystick/contract';
import { type OwnViolation, receivedMember } from '../call.ts';

/** `at`: the member of the input that has the destination. It need not follow the schema. */
export function destinationFaults(destination: unknown, at: string): OwnViolation[] {
  const member = (name: string) => receivedMember(destination, name);
  const type = member('type');
  const faults = type === 'Sftp' ? sftpFaults(member) : type === 'ObjectStorage' ? s3Faults(member) : [];
  return faults.map(({ field, issue }) => ({
    member: at,
    detail: { field: `destination.${field}`, issue },
    code: 'INVALID_DESTINATION',
  }));
}

type Member = (name: string) => unknown;

const HOST_NAME = /^[A-Za-z0-9_]([A-Za-z0-9._-]{0,252}[A-Za-z0-9])?\.?$/;
const FINGERPRINT = /^SHA256:[A-Za-z0-9+/]{43}=?$/;
const BUCKET = /^[a-z0-9](?!.*\.\.)[a-z0-9.-]{1,61}[a-z0-9]$/;
const REGION = /^[A-Za-z0-9-]{1,64}$/;
const ACCESS_KEY = /^[\w+=.@:-]{1,200}$/;
// Names of files that hold these are refused by servers, or are cut by them.
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\x00-\x1F\x7F]/;

function sftpFaults(member: Member): ErrorDetail[] {
  const [host, path, username] = [member('host'), member('path'), member('username')];
  const hasPassword = member('password') !== undefined;
  const hasKey = member('privateKey') !== undefined;
  const faults: ErrorDetail[] = [];
  if (isText(host) && !HOST_NAME.test(host) && !isIpv6(host))
    faults.push({ field: 'host', issue: 'must be a host name or an IP address' });
  if (isText(path) && CONTROL.test(path))
    faults.push({ field: 'path', issue: 'must have no control characters' });
  if (isText(username) && CONTROL.test(username))
    faults.push({ field: 'username', issue: 'must have no control characters' });
  if (hasPassword && hasKey)
    faults.push({ field: 'password', issue: 'must not be given together with privateKey' });
  if (!hasPassword && !hasKey)
    faults.push({ field: 'password', issue: 'is needed, unless privateKey is given' });
  const fingerprint = member('hostKeyFingerprint');
  if (isText(fingerprint) && !FINGERPRINT.test(fingerprint))
    faults.push({
      field: 'hostKeyFingerprint',
      issue: 'must be SHA256: and 43 characters of base64, as `ssh-keygen -l` prints it',
    });
  return faults;
}

function s3Faults(member: Member): ErrorDetail[] {
  const faults: ErrorDetail[] = [];
  const judge = (field: string, pattern: RegExp, issue: string) => {
    const value = member(field);
    if (isText(value) && !pattern.test(value)) faults.push({ field, issue });
  };
  judge('bucket', BUCKET, 'must be the name of a bucket: 3 to 63 of a-z, 0-9, hyphen and dot');
  judge('region', REGION, 'must be the name of a region, like eu-central-1');
  judge('accessKeyId', ACCESS_KEY, 'must be an access key, without spaces');
  const [prefix, endpoint] = [member('prefix'), member('endpoint')];
  // A URL would lead elsewhere.
  if (isText(prefix) && (CONTROL.test(prefix) || prefix.split('/').some((part) => /^\.{1,2}$/.test(part))))
    faults.push({ field: 'prefix', issue: 'must have no control characters, and no part that is . or ..' });
  if (isText(endpoint) && !isOrigin(endpoint))
    faults.push({
      field: 'endpoint',
      issue: 'must be an address like https://host:port, without a path, a query or credentials',
    });
  return faults;
}

function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    [url.username, url.password, url.search, url.hash].every((part) => part === '') &&
    url.pathname === '/'
  );
}

/** Without brackets. */
function isIpv6(text: string): boolean {
  return /^[0-9A-Fa-f:.]+$/.test(text) && URL.canParse(`http://[${text}]`);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
