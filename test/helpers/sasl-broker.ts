import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'
import type { Socket } from 'node:net'

const API_VERSIONS = 18
const SASL_HANDSHAKE = 17
const SASL_AUTHENTICATE = 36
const AUTHENTICATION_FAILED = 58

const int16 = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff])
const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
const text = (value: string): Buffer => Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)])
const sized = (value: Buffer): Buffer => Buffer.concat([int32(value.length), value])

/** Response of a broker to the authentication data of a client; undefined: authentication fails. */
export type Authenticate = (said: string) => string | undefined

/** A Kafka broker that supports only authentication. Any other request ends the connection. */
export function saslBroker(mechanism: string, authenticate: () => Authenticate): (socket: Socket) => void {
  return (socket) => {
    const responseTo = authenticate()
    let held = Buffer.alloc(0)
    socket.on('error', () => {})
    socket.on('data', (piece: Buffer) => {
      held = Buffer.concat([held, piece])
      while (held.length >= 4 && held.length >= 4 + held.readInt32BE(0)) {
        const length = held.readInt32BE(0)
        const body = response(held.subarray(4, 4 + length))
        if (body === undefined) return void socket.destroy()
        socket.write(sized(Buffer.concat([held.subarray(8, 12), body])))
        held = held.subarray(4 + length)
      }
    })
    const response = (request: Buffer): Buffer | undefined => {
      const client = request.readInt16BE(8)
      const rest = request.subarray(10 + Math.max(0, client))
      switch (request.readInt16BE(0)) {
        case API_VERSIONS:
          return Buffer.concat([
            int16(0),
            int32(3),
            ...[API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE].flatMap((key) => [int16(key), int16(0), int16(0)]),
            // The throttle time, for versions that have it.
            int32(0),
          ])
        case SASL_HANDSHAKE:
          return Buffer.concat([int16(0), int32(1), text(mechanism)])
        case SASL_AUTHENTICATE: {
          const said = responseTo(rest.subarray(4).toString())
          if (said === undefined)
            return Buffer.concat([int16(AUTHENTICATION_FAILED), int16(-1), sized(Buffer.alloc(0))])
          return Buffer.concat([int16(0), int16(-1), sized(Buffer.from(said))])
        }
        default:
          return undefined
      }
    }
  }
}

/** A server of SCRAM-SHA-256 (RFC 5802). `proven` receives whether the client knew the password. */
export function scramServer(password: string, iterations: number, proven: (good: boolean) => void): Authenticate {
  const salt = Buffer.from('a salt of no meaning')
  const hmac = (key: Buffer, data: string) => createHmac('sha256', key).update(data).digest()
  let first = ''
  let challenge = ''
  return (said) => {
    if (first === '') {
      first = said.replace(/^n,,/, '')
      challenge = `r=${/r=(.*)$/.exec(first)?.[1]}server,s=${salt.toString('base64')},i=${iterations}`
      return challenge
    }
    const [, unproven = '', proof = ''] = /^(.*),p=(.*)$/.exec(said) ?? []
    const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256')
    const exchange = `${first},${challenge},${unproven}`
    const clientKey = hmac(salted, 'Client Key')
    const signature = hmac(createHash('sha256').update(clientKey).digest(), exchange)
    const expected = Buffer.from(clientKey.map((byte, at) => byte ^ (signature[at] ?? 0))).toString('base64')
    proven(proof === expected)
    return proof === expected ? `v=${hmac(hmac(salted, 'Server Key'), exchange).toString('base64')}` : undefined
  }
}
