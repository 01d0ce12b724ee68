import type { OriginTarget } from '../../http/connector.js'
import type { Settings } from '../../rules/decisions.js'

/**
 * Returns the target with the TLS that the setting `ssl` asks for. A port in the URL of the origin stays; without one it
 * is that of the scheme. Without the setting the URL decides.
 */
export function withSsl(target: OriginTarget, ssl: Settings['ssl']): OriginTarget {
  if (ssl === undefined || target.url.startsWith('unix:')) return target
  const secure = ssl !== 'off' && ssl !== 'flexible'
  const url = target.url.replace(/^https?:/, secure ? 'https:' : 'http:')
  return ssl === 'full' ? { ...target, url, unverified: true } : { ...target, url }
}
