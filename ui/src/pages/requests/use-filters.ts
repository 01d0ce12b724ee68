import { useMemo } from 'react'
import { useAddress, useGo } from '../../address.tsx'
import { expressionOf, FILTERS, type FilterName, type Filters } from './request-filters.ts'

export interface FilterState {
  readonly filters: Filters
  readonly expression: string | undefined
  readonly count: number
  /** Sets one filter. Undefined removes it. */
  readonly set: (name: FilterName, value: string | undefined) => void
  readonly clear: () => void
}

/** The filters in the address. */
export function useFilters(): FilterState {
  const { search, rest } = useAddress()
  const go = useGo()
  const filters = useMemo(
    () => Object.fromEntries(FILTERS.flatMap((name) => (search[name] ? [[name, search[name]]] : []))) as Filters,
    [search],
  )
  return {
    filters,
    expression: useMemo(() => expressionOf(filters), [filters]),
    count: Object.keys(filters).length,
    set: (name, value) => go({ rest, search: { ...search, [name]: value } }, { replace: name === 'q' }),
    clear: () => {
      const none = Object.fromEntries(FILTERS.map((name) => [name, undefined]))
      go({ rest, search: { ...search, ...none } })
    },
  }
}
