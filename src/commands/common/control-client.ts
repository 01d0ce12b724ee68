import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect as connectPlain, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import type { Config } from '../../config/schema.js'
import { messageOf } from '../../core/errors.js'
import { hostAndPort, socketPath } from '../../http/listen.js'
import { targetOf } from './admin-client.js'
import { Exit } from './command.js'

const TIMEOUT_MS = 30_000

/** The parts of an API response that commands read. */
export interface ApiResult<R> {
  readonly success: boolean
  readonly result: R
  readonly errors: readonly { readonly message: string; readonly source?: { readonly pointer?: string } }[]
}

/** Calls the API of the running daemon. Throws {@link Exit} if it does not respond. */
export async function callApi<R>(
  { control: { listen, tls } }: Pick<Config, 'control'>,
  { path, token, body }: { path: string; token: string; body: object },
): Promise<ApiResult<R>> {
  if (socketPath(listen) === undefined && hostAndPort(listen).port === 0)
    throw new Exit(1, `control.listen has port 0; call the API at the address that the ready line shows: POST ${path}`)
  let socket: Socket | undefined
  try {
    const connected = (socket = await connectionTo(listen, tls?.cert_file))
    const sent = request({
      createConnection: () => connected,
      method: 'POST',
      path: `/client/v4${path}`,
      headers: { host: 'localhost', authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    })
    sent.end(JSON.stringify(body))
    const [response] = await once(sent, 'response')
    return JSON.parse(await text(response)) as ApiResult<R>
  } catch (error) {
    throw new Exit(1, `a process has the store open, but no API responds at ${listen}: ${messageOf(error)}`)
  } finally {
    socket?.destroy()
  }
}

/** Connects to the API. With TLS the server must have exactly the certificate of the configuration. */
async function connectionTo(listen: string, certFile: string | undefined): Promise<Socket> {
  const target = targetOf(listen)
  const to = 'socketPath' in target ? { path: target.socketPath } : target
  const socket =
    certFile === undefined
      ? connectPlain(to)
      : connectTls({ ...to, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`no response within ${TIMEOUT_MS / 1000} s`)))
  await once(socket, certFile === undefined ? 'connect' : 'secureConnect')
  if (certFile !== undefined) {
    const { raw } = new X509Certificate(readFileSync(certFile))
    const found = 'getPeerX509Certificate' in socket ? socket.getPeerX509Certificate()?.raw : undefined
    if (!found?.equals(raw)) throw new Error(`the server has another certificate than ${certFile}`)
  }
  return socket
}
