import { once } from 'node:events'
import { createServer, request, type ClientRequest, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** A request of a client. */
export interface Ask {
  readonly accept?: string
  readonly method?: string
  readonly headers?: Record<string, string>
}

/** A response with its body as received, with all codings. */
export interface Responded {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  /** False: the transfer broke off. */
  readonly complete: boolean
}

/** Sends a request for `example.test` to a proxy on a new connection, by default one that asks for Markdown. */
export function open(
  port: number,
  path: string,
  { accept = 'text/markdown', method = 'GET', headers = {} }: Ask = {},
): ClientRequest {
  const fields = { host: 'example.test', accept, 'accept-encoding': 'gzip, br', ...headers }
  return request({ host: '127.0.0.1', port, path, method, headers: fields, agent: false }).end()
}

/** Sends a request as {@link open} does and reads the response to its end, even if the transfer breaks. */
export async function ask(port: number, path: string, how?: Ask): Promise<Responded> {
  const asked = open(port, path, how)
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  // Reported by `complete`, like the errors of the loop below.
  asked.on('error', () => {})
  const chunks: Buffer[] = []
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk)
  } catch {}
  const { statusCode: status = 0, headers, complete } = response
  return { status, headers, body: Buffer.concat(chunks), complete }
}

/** A server on a free port, closed with the test. Returns its base URL. */
export async function originServer(t: Test, handler: RequestListener): Promise<string> {
  const server = createServer(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Waits until `what` holds; the test's own time limit is the deadline. */
export async function until(what: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await what())) await new Promise((resolve) => setTimeout(resolve, 2))
}

/** Lets this process run for a while that is longer on a busy machine: to check that an event does not occur. */
export async function turns(count = 50): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
}
