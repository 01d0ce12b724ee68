const STORED = 'edged.place'
const ZONE = 'edged.zone'
const PATH = /^\/[za]\/[^/]+\/[\w-]+$/

/** Returns the path of the page that was open last in this tab, without `/ui`. */
export function lastPlace(): string | undefined {
  const stored = sessionStorage.getItem(STORED)
  return stored !== null && PATH.test(stored) ? stored : undefined
}

export const rememberPlace = (path: string | undefined): void =>
  path === undefined ? sessionStorage.removeItem(STORED) : sessionStorage.setItem(STORED, path)

/** Returns the name of the zone that was open last in this tab. */
export const lastZone = (): string | null => sessionStorage.getItem(ZONE)

export const rememberZone = (name: string): void => sessionStorage.setItem(ZONE, name)
