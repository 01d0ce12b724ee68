import { createContext } from 'preact'
import { useContext } from 'preact/hooks'

export interface Account {
  readonly id: string
  readonly name: string
}
export interface Zone {
  readonly id: string
  readonly name: string
  readonly account: Account
}

/** The account and zone that the pages are about. */
export interface Place {
  readonly account: Account
  readonly zone: Zone | undefined
}

export const PlaceContext = createContext<Place | undefined>(undefined)

/** Returns the chosen account and zone, with the beginnings of their paths. */
export function usePlace() {
  const place = useContext(PlaceContext)!
  return {
    ...place,
    ofAccount: `/accounts/${place.account.id}`,
    ofZone: place.zone && `/zones/${place.zone.id}`,
  }
}
