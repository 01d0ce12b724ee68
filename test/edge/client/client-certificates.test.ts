import { webcrypto, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type ConnectionOptions } from 'node:tls'
import * as x509 from '@peculiar/x509'
import t, { type Test } from 'tap'
import type { LogRecord } from '../../../src/core/emit.js'
import { ClientAuthority, authorityIssue } from '../../../src/tls/client-authority.js'
import { startOrigin, startProxy, testZone } from '../../helpers/proxy.js'
import { ruledZone } from '../../helpers/rules.js'
import { CA_FILE, tlsFile } from '../../helpers/tls.js'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const DAY = 86_400_000
const TLS = `tls: { listen: 127.0.0.1:0, certificates: [{ cert_file: '${tlsFile('cert.pem')}', key_file: '${tlsFile('key.pem')}' }] }`

interface Pair {
  readonly keys: webcrypto.CryptoKeyPair
  readonly certificate: x509.X509Certificate
  readonly pem: { readonly cert: string; readonly key: string }
}

/** Creates a certificate, signed by `issuer` or by itself. `from`: days from now on which it begins. */
async function create(subject: string, issuer?: Pair, { from = -1, days = 30 } = {}): Promise<Pair> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: subject.length.toString(16).padStart(16, '1'),
    subject,
    issuer: issuer?.certificate.subject ?? subject,
    notBefore: new Date(Date.now() + from * DAY),
    notAfter: new Date(Date.now() + (from + days) * DAY),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: (issuer?.keys ?? keys).privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(issuer === undefined, undefined, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
  return {
    keys,
    certificate,
    pem: { cert: certificate.toString('pem'), key: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n` },
  }
}

/** Sends a request over TLS; returns the response and the session of the connection. */
async function get(
  t: Test,
  port: number,
  { host = 'receiver.test', ...options }: ConnectionOptions & { host?: string } = {},
): Promise<{ text: string; session: Buffer | undefined; reused: boolean }> {
  const socket = connect({ port, host: '127.0.0.1', servername: host, ca: readFileSync(CA_FILE), ...options })
  t.teardown(() => socket.destroy())
  let session: Buffer | undefined
  socket.on('session', (next) => (session = next))
  await once(socket, 'secureConnect')
  const reused = socket.isSessionReused()
  let text = ''
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  await once(socket, 'close')
  return { text, session, reused }
}

const FIELDS = ['presented', 'verified', 'subject_dn', 'subject_dn_legacy', 'issuer_dn', 'serial', 'issuer_serial']
const MORE = ['fingerprint_sha256', 'fingerprint_sha1', 'not_after', 'ski', 'issuer_ski', 'rfc9440', 'chain_rfc9440']

/** A zone that sends fields of the certificate to the origin and blocks what is presented and not verified. */
function certifiedZone(origin: string, authority: ClientAuthority, hostname: string) {
  const headers = Object.fromEntries(
    [...FIELDS, ...MORE].map((name) => [
      `x-${name.replaceAll('_', '-')}`,
      {
        operation: 'set',
        expression: ['presented', 'verified'].includes(name)
          ? `to_string(cf.tls_client_auth.cert_${name})`
          : `concat("=", cf.tls_client_auth.cert_${name})`,
      },
    ]),
  )
  const zone = ruledZone(
    origin,
    [
      {
        phase: 'http_request_firewall_custom',
        rules: [
          {
            action: 'block',
            expression: 'cf.tls_client_auth.cert_presented and not cf.tls_client_auth.cert_verified',
          },
        ],
      },
      {
        phase: 'http_request_late_transform',
        rules: [{ action: 'rewrite', expression: 'true', action_parameters: { headers } }],
      },
    ],
    { members: `hostnames: [${hostname}]` },
  )
  return { ...zone, clientAuthority: authority }
}

t.test('rules and records know the certificate of a client', async (t) => {
  const { url } = await startOrigin(t, (request, response) => response.end(JSON.stringify(request.headers)))
  const root = await create('C=US, O=Example, CN=Root')
  const authority = new ClientAuthority(root.pem.cert)
  const records: LogRecord[] = []
  const emitter = {
    wants: (dataset: string) => dataset === 'http_requests',
    emit: (_: string, __: unknown, record: LogRecord) => records.push(record),
  }
  const proxy = await startProxy(t, [certifiedZone(url, authority, 'receiver.test')], { yaml: `{ ${TLS} }`, emitter })
  const port = proxy.tls!.port
  const fields = (text: string) => JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)) as object

  const none = await get(t, port)
  t.match(fields(none.text), { 'x-presented': 'false', 'x-verified': 'false', 'x-serial': '=' }, 'without one')
  t.match(records.pop(), { ClientMTLSAuthStatus: 'absent', ClientMTLSAuthCertFingerprint: '' })

  const good = await create('C=US, O=Example, CN=Client', root)
  const node = new X509Certificate(good.pem.cert)
  const ski = (pair: Pair) =>
    Buffer.from(pair.certificate.getExtension(x509.SubjectKeyIdentifierExtension)!.keyId, 'hex')
      .toString('hex')
      .toUpperCase()
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const { text } = await get(t, port, { ...good.pem, maxVersion: version })
    t.match(
      fields(text),
      {
        'x-presented': 'true',
        'x-verified': 'true',
        'x-subject-dn': '=CN=Client,O=Example,C=US',
        'x-subject-dn-legacy': '=/C=US/O=Example/CN=Client',
        'x-issuer-dn': '=CN=Root,O=Example,C=US',
        'x-serial': `=${node.serialNumber}`,
        'x-issuer-serial': `=${new X509Certificate(root.pem.cert).serialNumber}`,
        'x-fingerprint-sha256': `=${node.fingerprint256.replaceAll(':', '').toLowerCase()}`,
        'x-fingerprint-sha1': `=${node.fingerprint.replaceAll(':', '').toLowerCase()}`,
        'x-not-after': `=${node.validTo}`,
        'x-ski': `=${ski(good)}`,
        'x-issuer-ski': `=${ski(root)}`,
        'x-rfc9440': `=:${node.raw.toString('base64')}:`,
      },
      version,
    )
    t.match(records.pop(), { ClientMTLSAuthStatus: 'ok', ClientMTLSAuthCertFingerprint: /^[0-9a-f]{64}$/ })
  }

  const other = await create('CN=Other')
  const rejected: [what: string, pair: Pair, status: string][] = [
    ['of another authority', await create('CN=Client', other), 'untrusted'],
    ['that is expired', await create('CN=Client', root, { from: -10, days: 5 }), 'expired'],
    ['that is not valid yet', await create('CN=Client', root, { from: 5 }), 'notyetvalid'],
  ]
  for (const [what, { pem }, status] of rejected) {
    t.match((await get(t, port, pem)).text, /^HTTP\/1\.1 403 /, `a certificate ${what} meets the rule`)
    t.match(records.pop(), { ClientMTLSAuthStatus: status })
  }
})

t.test('a certificate is not known to the zone of another authority', async (t) => {
  const { url } = await startOrigin(t, (request, response) => response.end(String(request.headers['x-verified'])))
  const [one, two] = [await create('CN=One'), await create('CN=Two')]
  const zones = [
    certifiedZone(url, new ClientAuthority(one.pem.cert), 'receiver.test'),
    { ...certifiedZone(url, new ClientAuthority(two.pem.cert), 'localhost'), id: '1'.repeat(32) },
    { ...testZone(url, 'hostnames: [www.receiver.test]'), id: '2'.repeat(32) },
  ]
  const proxy = await startProxy(t, zones, { yaml: `{ ${TLS} }` })
  const port = proxy.tls!.port
  const { pem } = await create('CN=Client', one)
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const first = await get(t, port, { ...pem, maxVersion })
    t.match(first.text, /true$/)
    const again = await get(t, port, { session: first.session, maxVersion })
    t.match([again.reused, again.text], [true, /true$/], 'a session of the same zone retains it')
    const moved = await get(t, port, { session: first.session, maxVersion, host: 'localhost' })
    t.match([moved.reused, moved.text], [false, /false$/], 'a session cannot be resumed at another zone')
  }
  const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca: readFileSync(CA_FILE) })
  t.teardown(() => socket.destroy())
  await once(socket, 'secureConnect')
  socket.write('GET / HTTP/1.1\r\nHost: receiver.test\r\n\r\n')
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  t.match(chunk.toString(), /^HTTP\/1\.1 421 /, 'a connection of another name is sent away')
  const plain = await get(t, port, { ...pem, host: 'www.receiver.test' })
  t.match(plain.text, /^HTTP\/1\.1 200 /, 'a zone without authority asks for no certificate')
})

t.test('a file without a certificate is rejected by name', async (t) => {
  t.equal(authorityIssue(CA_FILE), undefined)
  t.equal(authorityIssue('/none.pem'), 'cannot read /none.pem: no such file')
  t.equal(authorityIssue(tlsFile('key.pem')), `${tlsFile('key.pem')} is not usable: it has no PEM certificate`)
})
