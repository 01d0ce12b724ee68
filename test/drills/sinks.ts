import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import type { Owner } from '../e2e/daemon.js'
import { Receiver } from '../helpers/receiver.js'

/** Resolves when a condition holds. */
export async function holds(what: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await what())) await wait(20)
}

/** Destinations and the origin. */
export class Sinks {
  readonly hooks: Receiver
  /** How often each record arrived. */
  readonly rays = new Map<string, number>()
  /** How often each delivery arrived, by its id. */
  readonly deliveries = new Map<string, number>()
  readonly findings = new Set<string>()
  /** Version of all pages of the origin. */
  version = 1
  readonly #server: Server

  private constructor(hooks: Receiver) {
    this.hooks = hooks
    this.#server = createServer((request, response) => {
      const pieces: Buffer[] = []
      request.on('data', (piece: Buffer) => pieces.push(piece))
      request.on('error', () => undefined)
      request.on('end', () => {
        if (request.method === 'POST') this.#take(gunzipSync(Buffer.concat(pieces)).toString())
        response.writeHead(200, { 'cache-control': 'max-age=3600' }).end(String(this.version))
      })
    })
    hooks.response = ({ headers, body }, response) => {
      count(this.deliveries, String(headers['webhook-id']))
      for (const [, id] of body.matchAll(/"x-(i\d+)"/g)) this.findings.add(id!)
      response.writeHead(204).end()
    }
  }

  static async start(owner: Owner): Promise<Sinks> {
    const hooks = await Receiver.start()
    owner.teardown(async () => await hooks.close())
    const sinks = new Sinks(hooks)
    await new Promise<void>((resolve) => sinks.#server.listen(0, '127.0.0.1', resolve))
    owner.teardown(() => {
      sinks.#server.closeAllConnections()
      sinks.#server.close()
    })
    return sinks
  }

  get logsPort(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get origin(): string {
    return `http://127.0.0.1:${this.logsPort}`
  }

  #take(text: string): void {
    for (const [, ray] of text.matchAll(/"RayID":"(r\d+)"/g)) count(this.rays, ray!)
  }
}

function count(counts: Map<string, number>, id: string): void {
  counts.set(id, (counts.get(id) ?? 0) + 1)
}
