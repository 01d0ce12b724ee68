import { nearest } from '../../src/core/nearest.js'
import type { Dataset } from './fields/dataset.js'

/** Returns the issue of an unknown field name, with the name that is probably meant. Undefined for a known name. */
export function fieldIssue(incoming: Dataset, name: string): string | undefined {
  if (incoming.places.has(name)) return undefined
  const meant = nearest(name, incoming.names)
  return `is not a field of ${incoming.name}${meant === undefined ? '' : `; did you mean ${meant}?`}`
}
