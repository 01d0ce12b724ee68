import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Test } from 'tap'

const fixture = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url))

export interface SmtpServer {
  readonly port: number
  /** Commands and lines of messages, in order. */
  readonly lines: string[]
  /** Subjects of accepted messages that arrived over TLS. */
  readonly encrypted: string[]
}

/**
 * A mail server (RFC 5321) that offers STARTTLS (RFC 3207). It rejects recipients that begin with `no`, messages with the
 * word `spam`, and does not respond to recipients that begin with `slow`.
 */
export async function smtpServer(t: Test): Promise<SmtpServer> {
  const lines: string[] = []
  const encrypted: string[] = []
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => socket.destroy())
    socket.write('220 mail.example.test ESMTP\r\n')
    serve(socket, false)
  }).listen(0, '127.0.0.1')
  const serve = (socket: Socket, isSecure: boolean): void => {
    let message: string[] | undefined
    let rest = ''
    const respond = (text: string) => void socket.write(`${text}\r\n`)
    const read = (chunk: Buffer): void => {
      const [...all] = (rest + chunk.toString('utf8')).split('\r\n')
      rest = all.pop() ?? ''
      for (const line of all) {
        lines.push(line)
        if (message && line !== '.') message.push(line)
        else if (message) {
          const subject = message.find((one) => one.startsWith('Subject: '))?.slice(9) ?? ''
          if (isSecure) encrypted.push(subject)
          respond(message.some((one) => one.includes('spam')) ? '554 5.7.1 no spam here' : '250 2.0.0 queued')
          message = undefined
        } else if (/^EHLO/i.test(line)) respond(isSecure ? '250-hello\r\n250 SIZE 100000' : '250-hello\r\n250 STARTTLS')
        else if (/^STARTTLS/i.test(line)) {
          socket.off('data', read)
          respond('220 go ahead')
          const secure = new TLSSocket(socket, { isServer: true, cert: fixture('cert.pem'), key: fixture('key.pem') })
          secure.on('error', () => socket.destroy())
          serve(secure, true)
        } else if (/^RCPT TO:<no/i.test(line)) respond('550 5.1.1 no such user')
        else if (/^RCPT TO:<slow/i.test(line)) return
        else if (/^DATA/i.test(line)) {
          message = []
          respond('354 go on')
        } else respond('250 2.1.0 ok')
      }
    }
    socket.on('data', read)
  }
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, lines, encrypted }
}
