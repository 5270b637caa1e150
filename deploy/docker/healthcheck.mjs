// Exits with 0 if the service in this container is ready. For images that have no shell, and no curl. It knows the port and TLS from
// the environment only, and not from tallystick.json.

const { Server__Port: port = '8080', Server__Tls__Certificate: certificate } = process.env;
const { get } = await import(certificate === undefined ? 'node:http' : 'node:https');

// The certificate is for the name that callers use; this asks its own machine.
const asked = { host: '127.0.0.1', port, path: '/health/ready', timeout: 4000, rejectUnauthorized: false };
get(asked, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1))
  .on('timeout', () => process.exit(1))
  .on('error', () => process.exit(1));
