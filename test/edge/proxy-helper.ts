import type { IncomingMessage } from 'node:http'

export const HOST = 'Host: example.test\r\n'
const LAST = 'Connection: close\r\n'

/** A request that is the last one on its connection; `head`: more lines of its head. */
export const page = (head = '', method = 'GET', target = '/') =>
  `${method} ${target} HTTP/1.1\r\n${HOST}${LAST}${head}\r\n`

/** Starts an origin that responds with the request that it got. */
export const echo = (request: IncomingMessage) =>
  JSON.stringify({ line: `${request.method} ${request.url}`, raw: request.rawHeaders })

/** Returns the fields that such an origin got: name, value, name, value. */
export interface Echo {
  line: string
  raw: string[]
}

export const echoed = (text: string): Echo =>
  JSON.parse(text.slice(text.indexOf('{"line"'), text.lastIndexOf('}') + 1)) as Echo

/** Returns the values of a header field that the origin got; `name` in lower case. */
export const values = ({ raw }: Echo, name: string): string[] =>
  raw.filter((_, i) => i % 2 === 1 && raw[i - 1]!.toLowerCase() === name)
