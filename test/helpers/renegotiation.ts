import { once } from 'node:events'
import { connect } from 'node:tls'

/** Connects with TLS 1.2 and renegotiates up to `times` times. Returns how often the server took part. */
export async function renegotiations(port: number, times = 3): Promise<number> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, maxVersion: 'TLSv1.2' })
  // A refusal ends the connection; the callback of `renegotiate` is not called then.
  const ended = new Promise<false>((resolve) => {
    socket.on('error', () => resolve(false))
    socket.on('close', () => resolve(false))
  })
  await once(socket, 'secureConnect')
  socket.resume()
  let done = 0
  const renegotiate = async () =>
    await new Promise<boolean>((resolve) => {
      socket.renegotiate({ rejectUnauthorized: false }, (error) => resolve(error === null))
    })
  while (done < times && (await Promise.race([renegotiate(), ended]))) done++
  socket.destroy()
  return done
}
