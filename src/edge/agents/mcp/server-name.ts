/** Returns the name of the MCP server of a host: the host in reverse and an id, as in `com.example/site`. */
export const serverName = (host: string): string =>
  `${host
    .replace(/:\d+$/, '')
    .replaceAll(/[^a-z0-9.-]/g, '')
    .split('.')
    .toReversed()
    .join('.')}/site`
