import { InvalidInput } from '../../src/core/errors.js'

/** What stands in place of a secret. */
const MASK = '***'

const refused = (what: string) =>
  new InvalidInput([{ pointer: '/destination_conf', message: `has *** in place of ${what}, and none is stored` }])

/**
 * Returns a destination with the stored secrets in place of `***`: the credentials before the host, a path that is
 * secret, and the values of parameters. Throws InvalidInput if a secret is not stored.
 */
export function unmasked(given: string, stored: string | undefined, shown: string | undefined): string {
  if (!given.includes(MASK)) return given
  // As it was read: also forms of destinations that are secret as a whole.
  if (stored !== undefined && given === shown) return stored
  if (stored === undefined) throw refused('a secret')
  const [place, query] = split(given)
  const [storedPlace, storedQuery = ''] = split(stored)
  const values = new Map(
    storedQuery.split('&').map((part) => {
      const at = part.indexOf('=')
      return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)]
    }),
  )
  const parameters = query?.split('&').map((part) => {
    const [name = '', value] = part.split('=', 2)
    if (value !== MASK) return part
    const known = values.get(name)
    if (known === undefined) throw refused(`the value of ${name.slice(0, 50)}`)
    return `${name}=${known}`
  })
  return placeOf(place, storedPlace) + (parameters === undefined ? '' : `?${parameters.join('&')}`)
}

function placeOf(place: string, stored: string): string {
  const isMasked = /^[^:/?#]+:\/\/\*\*\*@/.test(place)
  const credentials = /^[^:/?#]+:\/\/([^/?#]*)@/.exec(stored)?.[1]
  if (isMasked && credentials === undefined) throw refused('credentials')
  const open = isMasked ? place.replace(`//${MASK}@`, () => `//${credentials}@`) : place
  if (!open.endsWith(`/${MASK}`)) return open
  const path = /^[^:/?#]+:\/\/[^/?#]*\/(.+)$/.exec(stored)?.[1]
  if (path === undefined) throw refused('a path')
  return open.slice(0, -MASK.length) + path
}

function split(destination: string): [place: string, query: string | undefined] {
  const at = destination.indexOf('?')
  return at < 0 ? [destination, undefined] : [destination.slice(0, at), destination.slice(at + 1)]
}
