import { createServer, type Server } from 'node:http'
import type { Metrics } from '../core/metrics.js'
import { listen, type Listening } from '../http/listen.js'

/** Readiness of the daemon. Empty: ready. Otherwise the reasons why not, one per line. */
export type Readiness = () => readonly string[]

/** Serves `/livez`, `/readyz` and `/metrics` (Prometheus text). */
export async function listenAdmin(address: string, metrics: Metrics, notReady: Readiness): Promise<Listening> {
  const server: Server = createServer((request, response) => {
    const say = (status: number, text: string, type = 'text/plain; charset=utf-8') =>
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(text)

    if (request.method !== 'GET' && request.method !== 'HEAD') return void say(405, 'GET or HEAD only\n')
    if (request.url === '/livez') return void say(200, 'ok\n')
    if (request.url === '/readyz') {
      const reasons = notReady()
      return void say(reasons.length === 0 ? 200 : 503, reasons.length === 0 ? 'ok\n' : `${reasons.join('\n')}\n`)
    }
    if (request.url === '/metrics') {
      metrics.metrics().then(
        (text) => say(200, text, metrics.contentType),
        () => say(500, 'the metrics could not be read\n'),
      )
      return
    }
    say(404, 'there is /livez, /readyz and /metrics\n')
  })
  server.requestTimeout = 10_000
  return await listen(server, address)
}
