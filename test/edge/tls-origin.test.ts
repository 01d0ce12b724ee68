import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import t from 'tap'
import { zoneTable } from '../../src/edge/exchange/zones.js'
import { testFolder } from '../helpers/folder.js'
import { metric, sendRaw, startProxy, testZone } from '../helpers/proxy.js'

/** A certificate for `localhost` and 127.0.0.1 that signs itself; undefined without openssl. */
function certificate(folder: string): { key: string; cert: string } | undefined {
  const key = join(folder, 'key.pem')
  const cert = join(folder, 'cert.pem')
  const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1'
  try {
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'].concat([
        '-subj',
        '/CN=localhost',
        '-addext',
        names,
        '-keyout',
        key,
        '-out',
        cert,
      ]),
      { stdio: 'ignore' },
    )
  } catch {
    return undefined
  }
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
}

t.test('https origins are verified by their own name, regardless of the requested host', async (t) => {
  const pair = certificate(testFolder(t))
  if (!pair) {
    t.pass('checked', { skip: 'no openssl here' })
    return
  }
  let handshakes = 0
  const server = createServer(pair, (request, response) =>
    response.end(
      `${request.headers.host} ${String((request.socket as TLSSocket & { servername: unknown }).servername)}`,
    ),
  )
  server.on('secureConnection', () => handshakes++)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port: originPort } = server.address() as AddressInfo
  const byName = { ...testZone(`https://localhost:${originPort}`), originCa: pair.cert }
  const { port, zones, metrics } = await startProxy(t, [byName])
  const ask = async (host: string) =>
    await sendRaw(port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)

  for (const host of ['example.test', 'a.example.test', 'b.example.test'])
    t.match((await ask(host)).text, new RegExp(`\r\n\r\n${host} localhost$`))
  t.ok(handshakes <= 2, `${handshakes} handshakes for three hosts`)

  zones.current = zoneTable([{ ...testZone(`https://127.0.0.1:${originPort}`), originCa: pair.cert }])
  t.match((await ask('example.test')).text, /\r\n\r\nexample\.test false$/, 'an address has no server name')

  zones.current = zoneTable([testZone(`https://localhost:${originPort}`)])
  t.equal((await ask('example.test')).status, 502, 'nobody vouches for it')
  t.equal(await metric(metrics, 'edged_proxy_origin_errors_total', { kind: 'tls' }), 1)
})

t.test('bodies pass through TLS both ways, with and without a length', async (t) => {
  const pair = certificate(testFolder(t))
  if (!pair) {
    t.pass('checked', { skip: 'no openssl here' })
    return
  }
  const server = createServer(pair, (request, response) => void request.pipe(response))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = testZone(`https://localhost:${(server.address() as AddressInfo).port}`)
  const { port } = await startProxy(t, [{ ...origin, originCa: pair.cert }])
  for (const size of [100, 4_000_000])
    for (const headers of [{ 'content-length': size }, {}]) {
      const sent = randomBytes(size)
      const request = httpRequest({ port, method: 'POST', headers: { host: 'example.test', ...headers } })
      request.end(sent)
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      const got: Buffer[] = []
      for await (const part of response) got.push(part as Buffer)
      t.ok(Buffer.concat(got).equals(sent), `${size} bytes`)
    }
})
