import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createResidency } from './residency.ts';

const S3 = { type: 'ObjectStorage', provider: 'S3', bucket: 'audit' } as const;
const sftp = (host: string) => ({ type: 'Sftp', host }) as const;
const s3 = (region: string, endpoint?: string) => ({ ...S3, region, ...(endpoint && { endpoint }) });

test('files of a pinned tenant go to places that are known to be in its region', () => {
  const violates = createResidency(['eu=sftp.example.com', 'eu-west-1=*.Storage.example', 'us=10.0.0.1']);
  const inside = (pinned: string, destination: Parameters<typeof violates>[0]) =>
    !violates(destination, { region: pinned });
  assert.equal(violates(sftp('anywhere.example'), { region: undefined }), false, 'it is pinned to none');
  for (const place of [
    s3('eu'),
    s3('eu-central-1'),
    s3('any', 'https://a.storage.example/'),
    s3('eu-central-1', 'https://a.b.STORAGE.example:9000'),
    sftp('sftp.example.com'),
    sftp('SFTP.example.com.'),
  ])
    assert.ok(inside('eu', place), JSON.stringify(place));
  for (const place of [
    s3('us-east-1'),
    s3('europe'),
    s3('eu-central-1', 'https://s3.us-east-1.amazonaws.com'),
    s3('eu', 'https://storage.example'),
    s3('eu', 'https://evilstorage.example'),
    sftp('other.example.com'),
    sftp('10.0.0.1'),
    sftp('sftp.example.com.evil.example'),
  ])
    assert.ok(!inside('eu', place), JSON.stringify(place));
  assert.ok(!inside('eu-west-1', sftp('sftp.example.com')), 'it is somewhere in eu');
  assert.ok(inside('eu-west-1', s3('x', 'https://a.storage.example')));
});
