import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The path of a file with a key or a certificate. */
export const tlsFile = (name: 'key.pem' | 'cert.pem' | 'ca.pem' | 'second-key.pem' | 'second-cert.pem'): string =>
  fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))

/** Key and certificate of a server: `receiver.test`, anything one label below it, `localhost`, 127.0.0.1 and ::1. */
export const SERVER_TLS = { key: readFileSync(tlsFile('key.pem')), cert: readFileSync(tlsFile('cert.pem')) }

/** The authority that signs it. */
export const CA_FILE = tlsFile('ca.pem')
