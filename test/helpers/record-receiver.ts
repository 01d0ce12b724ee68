import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import type { Test } from 'tap'

/** A receiver that counts how often each record arrived; it fails while `isDown`. */
export async function receiver(t: Test) {
  const arrived = new Map<string, number>()
  const bodies = new Map<string, string>()
  const state = { isDown: false, failures: 0 }
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      if (state.isDown) {
        state.failures++
        return void response.writeHead(503).end()
      }
      const body = gunzipSync(Buffer.concat(chunks)).toString()
      const name = String(request.headers['idempotency-key'])
      if (!bodies.has(name))
        for (const id of body.split('\n').filter(Boolean)) arrived.set(id, (arrived.get(id) ?? 0) + 1)
      else t.equal(bodies.get(name), body, 'a batch that is sent again has the same bytes')
      bodies.set(name, body)
      response.writeHead(200).end()
    })().catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  const repeated = () => [...arrived].filter(([, count]) => count > 1).map(([id]) => id)
  return { url: `http://127.0.0.1:${port}/`, arrived, state, repeated }
}
