import type { GeoLocation } from '../../rules/types.js'
import type { Exchange } from '../exchange/exchange.js'

/** Countries of the European Union have this mark in `request.cf`. */
const IN_UNION = '1'

/** Characters that JSON may have and a field of a request may not. */
const OUTSIDE_ASCII = /[^\x20-\x7e]/g

/** The text for connections without TLS of clients at unknown places, by version of HTTP. */
const plain = new Map<string, string>()
/** The text for the last place of each connection with TLS. */
const secure = new WeakMap<
  object,
  { readonly place: GeoLocation; readonly httpVersion: string; readonly text: string }
>()

/** Returns `request.cf` as JSON, in ASCII. Requests that have it in common share one text. */
export function requestCf(
  exchange: Pick<Exchange, 'httpVersion' | 'tls'> & { readonly agent?: Exchange['agent'] },
  place: GeoLocation,
): string {
  const { httpVersion, tls, agent } = exchange
  if (agent?.isVerifiedBot) return cfText(exchange, place)
  if (tls) {
    const known = secure.get(tls)
    if (known?.place === place && known.httpVersion === httpVersion) return known.text
    const text = cfText(exchange, place)
    secure.set(tls, { place, httpVersion, text })
    return text
  }
  if (place.city || place.asn) return cfText(exchange, place)
  const text = plain.get(httpVersion) ?? cfText(exchange, place)
  plain.set(httpVersion, text)
  return text
}

/**
 * Returns `request.cf` as JSON in ASCII, with the names of the runtime's `IncomingRequestCfProperties`. Values that the proxy
 * does not know are absent.
 */
function cfText(
  { httpVersion, tls, agent }: Pick<Exchange, 'httpVersion' | 'tls'> & { readonly agent?: Exchange['agent'] },
  place: GeoLocation,
): string {
  const { city, asn } = place
  const region = city?.subdivisions?.[0]
  const { latitude, longitude } = city?.location ?? {}
  const metro = city?.location?.metro_code
  const text = JSON.stringify({
    httpProtocol: httpVersion === '2' ? 'HTTP/2' : `HTTP/${httpVersion}`,
    tlsVersion: tls?.version,
    tlsCipher: tls?.cipher,
    tlsClientHelloLength: tls && String(tls.helloBytes),
    tlsClientRandom: tls?.fingerprint.random,
    tlsClientCiphersSha1: tls?.fingerprint.ciphersSha1,
    tlsClientExtensionsSha1: tls?.fingerprint.extensionsSha1,
    tlsClientExtensionsSha1Le: tls?.fingerprint.extensionsSha1Le,
    asn: asn?.autonomous_system_number,
    asOrganization: asn?.autonomous_system_organization,
    country: city?.country?.iso_code,
    isEUCountry: city?.country?.is_in_european_union === true ? IN_UNION : undefined,
    continent: city?.continent?.code,
    city: city?.city?.names?.en,
    postalCode: city?.postal?.code,
    metroCode: metro === undefined ? undefined : String(metro),
    region: region?.names?.en,
    regionCode: region?.iso_code,
    latitude: latitude === undefined ? undefined : String(latitude),
    longitude: longitude === undefined ? undefined : String(longitude),
    timezone: city?.location?.time_zone,
    ...(agent?.isVerifiedBot && {
      verifiedBotCategory: agent.verifiedBotCategory,
      botManagement: { verifiedBot: true },
    }),
  })
  return text.replaceAll(OUTSIDE_ASCII, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
