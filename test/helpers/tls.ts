import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const file = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))

/** Key and certificate of a server: `receiver.test`, anything one label below it, `localhost`, 127.0.0.1 and ::1. */
export const SERVER_TLS = { key: readFileSync(file('key.pem')), cert: readFileSync(file('cert.pem')) }

/** The authority that signs it. */
export const CA_FILE = file('ca.pem')
