/** The origin behind all servers. It tells what it read, and responds to `/r/` with the bytes of a case. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { readMessage, valuesOf } from './messages.js'

/** A request as the origin read it. */
export interface Arrived {
  readonly id: number
  readonly method: string
  readonly target: string
  readonly host: string
  /** Characters of the body. */
  readonly length: number
}

/** What arrived for one case. */
export interface Arrivals {
  readonly requests: Arrived[]
  /** Bytes that are not HTTP. */
  readonly faults: string[]
}

/** Names a case in targets, fields and bodies. All have one length, so that a case is the same in each run. */
export const tokenOf = (number: number): string => `case${String(number).padStart(8, '0')}z`
const TOKEN = /case\d{8}z/
/** Returns the first name of a case in a text. */
export const namedIn = (text: string): string | undefined => TOKEN.exec(text)?.[0]

export class GardenOrigin {
  readonly #server = createServer((socket) => this.#serve(socket))
  readonly #cases = new Map<string, Arrivals>()
  /** Bytes of the response to the target `/r/TOKEN`. */
  readonly responses = new Map<string, Buffer>()
  #count = 0

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return (this.#server.address() as AddressInfo).port
  }

  close(): void {
    this.#server.close()
  }

  /** Returns what arrives for a case, from now on. */
  expect(token: string): Arrivals {
    const arrivals: Arrivals = { requests: [], faults: [] }
    this.#cases.set(token, arrivals)
    return arrivals
  }

  forget(token: string): void {
    this.#cases.delete(token)
    this.responses.delete(token)
  }

  #serve(socket: Socket): void {
    let text = ''
    socket.on('error', () => socket.destroy())
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      for (;;) {
        if (text === '') return
        const read = readMessage(text, 'request')
        if (read === undefined) return
        const token = namedIn(text) ?? ''
        const arrivals = this.#cases.get(token)
        if ('fault' in read) {
          arrivals?.faults.push(read.fault)
          socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
          return
        }
        const { head, body, rest } = read
        text = rest
        const [method = '', target = ''] = head.line.split(' ')
        const host = valuesOf(head, 'host').join(', ')
        const arrived = { id: ++this.#count, method, target, host, length: body.length }
        arrivals?.requests.push(arrived)
        const mutated = target.startsWith('/r/') ? this.responses.get(token) : undefined
        if (mutated === undefined) socket.write(responseTo(arrived))
        // Framing by the end of the connection is a reading too.
        else socket.write(mutated, () => void setTimeout(() => socket.end(), 40))
      }
    })
  }
}

function responseTo(arrived: Arrived): string {
  const body = JSON.stringify(arrived)
  const head = `HTTP/1.1 200 OK\r\nContent-Type: text/css\r\nCache-Control: max-age=60\r\nX-Clean: ${arrived.id}\r\nContent-Length: ${body.length}\r\n\r\n`
  return arrived.method === 'HEAD' ? head : head + body
}
