import { accessSync, constants } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import type { ImportedConfig } from '../site/model.js'
import type { Report } from '../site/report.js'
import type { Directive } from './parse.js'
import type { Server } from './server.js'

/** Directives of a server that only redirects to HTTPS. */
const BARE = new Set([
  'listen',
  'server_name',
  'return',
  'if',
  'rewrite',
  'root',
  'access_log',
  'error_log',
  'server_tokens',
])
const TO_HTTPS = /^https:\/\/(\$host|\$http_host|\$server_name|[\w.-]+)\$request_uri$/

/**
 * Returns the servers with TLS to which a server without TLS sends clients, host by host, if it does nothing else. A server without a
 * name sends them to all. Returns none if a name has no server with TLS.
 */
export function redirectTargets({ scope, listens, hostnames }: Server, servers: readonly Server[]): readonly Server[] {
  if (listens.some(({ secure }) => secure)) return []
  const secure = servers.filter((other) => other.listens.some((listen) => listen.secure))
  const targets = secure.filter(
    (other) => hostnames.length === 0 || hostnames.some((name) => other.hostnames.includes(name)),
  )
  if (!hostnames.every((name) => targets.some((other) => other.hostnames.includes(name)))) return []
  return onlyRedirects(scope, hostnames) ? targets : []
}

function onlyRedirects(scope: Server['scope'], hostnames: readonly string[]): boolean {
  const locations = scope.own('location')
  const others = scope.directives.filter(({ name }) => !BARE.has(name) && name !== 'location')
  // Challenges of authorities are answered over HTTP in any case.
  const kept = locations.filter(({ args }) => !(args.at(-1) ?? '').startsWith('/.well-known/acme-challenge'))
  const returns = [
    ...scope.directives,
    ...kept.flatMap(({ block = [] }) => block),
    ...scope.own('if').flatMap(({ block = [] }) => block),
  ]
  const targets = returns.filter(({ name }) => name === 'return' || name === 'rewrite')
  const redirects = targets.filter((directive) => isToHttps(directive, hostnames))
  // certbot writes an `if` for each name and 404 for the rest.
  const rest = targets.filter((directive) => !redirects.includes(directive))
  const only404 = rest.every(({ args }) => args[0] === '404')
  return others.length === 0 && redirects.length > 0 && only404 && kept.every(({ args }) => args.at(-1) === '/')
}

function isToHttps({ name, args }: Directive, hostnames: readonly string[]): boolean {
  const target =
    name === 'rewrite'
      ? (args[1] ?? '').replace(/\$1$/, '$request_uri').replace(/\/\$request_uri$/, '$request_uri')
      : (args[1] ?? args[0] ?? '')
  const [, host] = TO_HTTPS.exec(target.replace(/\$uri\$is_args\$args$/, '$request_uri')) ?? []
  return host !== undefined && (host.startsWith('$') || hostnames.includes(host))
}

/** Returns the certificates of all servers; ACME without any that can be read. */
export function certificatesOf(
  servers: readonly Server[],
  folder: string,
  report: Report,
): NonNullable<ImportedConfig['tls']> {
  const pairs = new Map<string, { cert_file: string; key_file: string }>()
  let unreadable = false
  for (const { scope } of servers) {
    const keys = scope.all('ssl_certificate_key')
    for (const [
      index,
      {
        args: [given = ''],
        place,
      },
    ] of scope.all('ssl_certificate').entries()) {
      const cert_file = whole(given, folder)
      const key_file = whole(keys[index]?.args[0] ?? keys[0]?.args[0] ?? given, folder)
      const missing = [cert_file, key_file].find((path) => !isReadable(path))
      if (missing === undefined) pairs.set(cert_file, { cert_file, key_file })
      else {
        unreadable = true
        report.add(
          place,
          `ssl_certificate ${given}`,
          `cannot read ${missing}; the names get certificates by ACME unless you add the files`,
        )
      }
    }
    const client = scope.one('ssl_verify_client')
    if (client && client.args[0] !== 'off')
      report.add(
        client.place,
        `ssl_verify_client ${client.args[0]}`,
        'set `client_ca_file` of the zone, and a block rule on cf.tls_client_auth.cert_verified',
      )
  }
  const certificates = [...pairs.values()]
  return {
    ...(certificates.length > 0 && { certificates }),
    ...((certificates.length === 0 || unreadable) && { acme: { agree_to_terms: true } }),
  }
}

const whole = (path: string, folder: string): string => (isAbsolute(path) ? path : resolve(folder, path))

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}
