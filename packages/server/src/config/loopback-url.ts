// Whether a URL of the settings names this machine, judged by its text alone. What a name resolves to is judged again
// when a connection is made.

export function isLoopbackUrl(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname);
}
