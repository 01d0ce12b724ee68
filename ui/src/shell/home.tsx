import { Navigate } from '@tanstack/react-router'
import { useAccounts, useZones } from '../place.tsx'
import { Loading, Problem } from '../parts/states.tsx'
import { earlierOf } from './earlier.ts'
import { lastPlace } from './last-place.ts'

/** `/ui/`: goes to the zone or account that was open last, or else to the first one. */
export function Home() {
  const zones = useZones()
  const accounts = useAccounts()
  const last = lastPlace()
  const earlier = earlierOf(location.hash)
  if (last && !earlier) return <Navigate to={last} replace />
  const [zone] = zones.value ?? []
  if (zone) return <Navigate to={`/z/${zone.name}/${earlier?.page ?? 'overview'}`} replace />
  const [account] = accounts.value ?? []
  if (zones.value && account) return <Navigate to={`/a/${account.id}/zones`} replace />
  if (zones.value && accounts.value)
    return (
      <Problem
        isPage
        title="This token sees no account and no zone"
        text="Sign in with another token, or add a zone to the configuration file."
      />
    )
  if (zones.error !== undefined)
    return <Problem isPage title="The zones could not be read" text={zones.error} retry={zones.reload} />
  return <Loading />
}
