import { createHash, webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
/** id-pe-acmeIdentifier (RFC 8737, 3). */
const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31'
const CHALLENGE_DAYS = 7
const DAY_MS = 86_400_000

x509.cryptoProvider.set(webcrypto as never)

/** Creates an ECDSA P-256 key and the request for a certificate of one DNS name. */
export async function certificateRequest(name: string): Promise<{ csr: Buffer; key: string }> {
  const keys = await keyPair()
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: name }])],
  })
  return { csr: Buffer.from(request.rawData), key: await pemOf(keys.privateKey) }
}

/** Creates the self-signed certificate that proves control of a name over TLS (RFC 8737, 3). */
export async function challengeCertificate(
  name: string,
  authorization: string,
  now: number,
): Promise<{ chain: string; key: string }> {
  const keys = await keyPair()
  // An OCTET STRING of the 32 bytes of the hash.
  const digest = Buffer.concat([Buffer.from([4, 32]), createHash('sha256').update(authorization).digest()])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=ACME challenge',
    keys,
    signingAlgorithm: ALGORITHM,
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + CHALLENGE_DAYS * DAY_MS),
    extensions: [
      new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: name }]),
      new x509.Extension(ACME_IDENTIFIER, true, digest),
    ],
  })
  return { chain: certificate.toString('pem'), key: await pemOf(keys.privateKey) }
}

const keyPair = async (): Promise<webcrypto.CryptoKeyPair> =>
  await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  const der = await webcrypto.subtle.exportKey('pkcs8', key)
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----', ''].join('\n')
}
