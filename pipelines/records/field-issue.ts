import { nearest } from '../../src/core/nearest.js'
import type { Dataset } from './dataset.js'

/** Returns the issue of the name of a field that something reads, with the name that is probably meant; else undefined. */
export function fieldIssue(incoming: Dataset, name: string): string | undefined {
  if (incoming.places.has(name)) return undefined
  const meant = nearest(name, incoming.names)
  return `is not a field of ${incoming.name}${meant === undefined ? '' : `; did you mean ${meant}?`}`
}
