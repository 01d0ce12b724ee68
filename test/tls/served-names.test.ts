import t from 'tap'
import { missingCertificates, missingText, orderedNames, servedNames } from '../../src/tls/acme/served-names.js'
import { CertificateTable, loadCertificate } from '../../src/tls/certificates.js'
import { tlsFile } from '../helpers/tls.js'

const HTTP = { challenges: ['tls-alpn-01'], www: true } as const
const DNS = { challenges: ['dns-01'], www: true } as const
const NO_FILES = new CertificateTable([])
// receiver.test, *.receiver.test, localhost
const FILES = new CertificateTable([loadCertificate({ cert_file: tlsFile('cert.pem'), key_file: tlsFile('key.pem') })])
const zone = (name: string, hostnames?: string[]) => ({ id: 'z', name, hostnames })

t.test(
  'a zone serves its host names, or its name and those below; certificates are ordered for what is possible',
  (t) => {
    t.same(servedNames(zone('One.test')), ['one.test', '*.one.test'])
    t.same(orderedNames(zone('One.test'), HTTP), ['one.test', 'www.one.test'])
    t.same(orderedNames(zone('www.one.test'), HTTP), ['www.one.test'], 'no www.www')
    t.same(orderedNames(zone('one.test'), { ...HTTP, www: false }), ['one.test'])
    t.same(orderedNames(zone('one.test', ['one.test', '*.one.test']), HTTP), ['one.test'], 'as the list says')
    t.same(orderedNames(zone('one.test'), DNS), ['one.test', '*.one.test'], 'the wildcard covers www')
    t.same(orderedNames(zone('x', ['*', 'localhost', '10.0.0.1', '[::1]', '*.com.', 'a_b.test']), DNS), ['a_b.test'])
    t.end()
  },
)

t.test('every served name without a certificate is named once, with what to write', (t) => {
  const names = (given: Parameters<typeof missingCertificates>[0]) =>
    [...missingCertificates(given)].map(({ name }) => name)
  const zones = [zone('receiver.test'), zone('two.test', ['two.test', 'localhost', '10.0.0.1', 'one.two.test'])]
  t.same(names({ zones, files: FILES, acme: undefined }), ['two.test', 'one.two.test'], 'addresses have the first file')
  t.same(names({ zones, files: NO_FILES, acme: HTTP }), ['*.receiver.test', 'localhost', '10.0.0.1'])
  const any = [zone('x.test', ['*'])]
  t.same(names({ zones: any, files: FILES, acme: HTTP }), ['*'])
  t.same(names({ zones: any, files: FILES, acme: { ...HTTP, on_demand: {} } }), [])
  t.same(names({ zones: [...any, ...any], files: FILES, acme: undefined }), ['*'], 'once')
  const custom = [{ hostname: 'Shop.customer.test', zone: any[0]!, wildcard: true }]
  t.same(names({ zones: [], custom, files: FILES, acme: HTTP }), ['*.shop.customer.test'])
  t.end()
})

t.test('an order in progress or failed is the reason', (t) => {
  const zones = [zone('one.test')]
  const failed = { orders: [], failures: 1, last_error: 'no such name', next_order: '2026-01-01T00:00:00.000Z' }
  const found = [
    ...missingCertificates({
      zones,
      files: NO_FILES,
      acme: HTTP,
      record: (name) => (name === 'www.one.test' ? failed : undefined),
    }),
  ]
  t.same(found.map(missingText), [
    'one.test (zone one.test) is served over HTTPS and has no certificate: it is being ordered; add a DNS record of one.test that leads here',
    `*.one.test (zone one.test) is served over HTTPS and has no certificate: ${found[1]?.why}; add ${found[1]?.write}`,
    'www.one.test (zone one.test) is served over HTTPS and has no certificate: the last order failed: no such name; the next order is at ' +
      '2026-01-01T00:00:00.000Z; add a DNS record of www.one.test that leads here, or proxy.tls.acme.www: false',
  ])
  const issued = { orders: [], failures: 0, chain: 'PEM' }
  const acme = { ...HTTP, on_demand: {} }
  t.same([...missingCertificates({ zones, files: NO_FILES, acme, record: () => issued })], [])
  t.end()
})
