import t from 'tap'
import { requestCf } from '../../../src/edge/workers/worker-cf.js'

const PLACE = {
  known: true,
  asn: { autonomous_system_number: 64_500, autonomous_system_organization: 'Example AS' },
  city: {
    city: { geoname_id: 1, names: { en: 'Vienna' } },
    continent: { geoname_id: 2, code: 'EU' as const, names: { en: 'Europe' } },
    country: { geoname_id: 3, iso_code: 'AT', is_in_european_union: true, names: { en: 'Austria' } },
    location: { accuracy_radius: 1, latitude: 48.2, longitude: 16.37, time_zone: 'Europe/Vienna' },
    postal: { code: '1010' },
    subdivisions: [{ geoname_id: 4, iso_code: '9', names: { en: 'Vienna' } }],
  },
}

t.test('request.cf has what the connection and the databases know', (t) => {
  const fingerprint = { random: 'cg==', ciphersSha1: 'Yw==', extensionsSha1: 'ZQ==', extensionsSha1Le: 'bA==' }
  const tls = { version: 'TLSv1.3', cipher: 'TLS_AES_128_GCM_SHA256', helloBytes: 517, fingerprint } as Parameters<
    typeof requestCf
  >[0]['tls']
  t.same(JSON.parse(requestCf({ httpVersion: '2', tls }, PLACE)), {
    httpProtocol: 'HTTP/2',
    tlsVersion: 'TLSv1.3',
    tlsCipher: 'TLS_AES_128_GCM_SHA256',
    tlsClientHelloLength: '517',
    tlsClientRandom: 'cg==',
    tlsClientCiphersSha1: 'Yw==',
    tlsClientExtensionsSha1: 'ZQ==',
    tlsClientExtensionsSha1Le: 'bA==',
    asn: 64_500,
    asOrganization: 'Example AS',
    country: 'AT',
    isEUCountry: '1',
    continent: 'EU',
    city: 'Vienna',
    postalCode: '1010',
    region: 'Vienna',
    regionCode: '9',
    latitude: '48.2',
    longitude: '16.37',
    timezone: 'Europe/Vienna',
  })
  t.same(
    JSON.parse(requestCf({ httpVersion: '1.0', tls: undefined }, { known: false, city: undefined, asn: undefined })),
    {
      httpProtocol: 'HTTP/1.0',
    },
  )
  t.end()
})

t.test('request.cf is sent in ASCII, so that each character reaches the script', (t) => {
  const city = { ...PLACE.city, city: { geoname_id: 1, names: { en: 'São Paulo Łódź' } } }
  const text = requestCf({ httpVersion: '1.1', tls: undefined }, { ...PLACE, city })
  t.match(text, /^[\x20-\x7e]+$/)
  t.match(JSON.parse(text), { city: 'São Paulo Łódź' })
  t.end()
})
