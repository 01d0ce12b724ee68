/** Parses `127.0.0.1:5514` or `[::1]:5514` into host and port. */
export function addressOf(listen: string): { host: string; port: number } {
  const colon = listen.lastIndexOf(':')
  return { host: listen.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(listen.slice(colon + 1)) }
}
