import type { SecurityHeader, ZoneSettings } from '../../core/model/zone-settings.js'
import { headerOf, withoutHeader, type RawHeaders } from '../../http/headers.js'
import type { TlsVersion } from '../../tls/certificates.js'

/** How a zone uses HTTPS towards its clients. */
export interface HttpsSettings {
  /** HTTP requests are redirected. */
  readonly always: boolean
  /** Undefined if the minimum version of the listener applies. */
  readonly minVersion: TlsVersion | undefined
  readonly http2: boolean
  /** Fields of each response over HTTPS. */
  readonly headers: RawHeaders
}

export function httpsSettings(settings: ZoneSettings): HttpsSettings {
  const { min_tls_version: version } = settings
  return {
    always: settings.always_use_https === 'on',
    minVersion: version === '1.2' || version === '1.3' ? version : undefined,
    http2: settings.http2 !== 'off',
    headers: securityHeaders(settings.security_header),
  }
}

function securityHeaders(header: SecurityHeader | undefined): RawHeaders {
  const { enabled = false, max_age = 0, include_subdomains, preload, nosniff } = header?.strict_transport_security ?? {}
  const fields: string[] = []
  if (enabled) {
    const directives = [
      `max-age=${max_age}`,
      ...(include_subdomains ? ['includeSubDomains'] : []),
      ...(preload ? ['preload'] : []),
    ]
    fields.push('strict-transport-security', directives.join('; '))
  }
  if (nosniff) fields.push('x-content-type-options', 'nosniff')
  return fields
}

/** Returns the fields of a response with those that the zone adds to each response over HTTPS. */
export function withSecurityHeaders(headers: RawHeaders, { headers: added }: HttpsSettings): RawHeaders {
  let fields = headers
  // The zone's value replaces one of the origin (RFC 6797, 7.1: one field).
  for (let i = 0; i < added.length; i += 2)
    if (headerOf(fields, added[i]!) !== undefined) fields = withoutHeader(fields, added[i]!)
  return [...fields, ...added]
}

/**
 * Returns the HTTPS address of a request over HTTP. The port of this proxy's HTTP listener is replaced. Any other port
 * belongs to something in front of the proxy.
 */
export function httpsAddress(
  host: string,
  target: string,
  ports: { readonly http: number; readonly https: number | undefined },
): string {
  const [, name = host, port] = /^(.*?)(?::(\d+))?$/.exec(host) ?? []
  const mapped = port !== undefined && Number(port) === ports.http ? ports.https : undefined
  return `https://${name}${mapped === undefined || mapped === 443 ? '' : `:${mapped}`}${target}`
}
