import type { Issue } from '../core/errors.js'
import { soundMembers } from '../core/schema.js'

const ZONE = /^\/zones\/(\d+)(?=\/|$)/

/** The part of a configuration file without issues, which can be checked further. */
export interface SoundPart {
  readonly value: Readonly<Record<string, unknown>>
  /** Whether zones or accounts have issues: names of those left out are unknown, not wrong. */
  readonly lacksNames: boolean
  /** Returns an issue found in {@link value} with the pointer that it has in the file. */
  readonly place: (issue: Issue) => Issue
}

/** Leaves out each section with issues, and each zone with issues: the other zones are checked further. */
export function soundPart(given: object, issues: readonly Issue[]): SoundPart {
  const elsewhere = issues.filter(({ pointer }) => !ZONE.test(pointer))
  const wrong = new Set(issues.map(({ pointer }) => ZONE.exec(pointer)?.[1]))
  const sound: Record<string, unknown> = { ...soundMembers(given, elsewhere) }
  const { zones } = sound
  const listed = Array.isArray(zones) ? [...zones.entries()].filter(([index]) => !wrong.has(String(index))) : []
  return {
    value: Array.isArray(zones) ? { ...sound, zones: listed.map(([, zone]) => zone as unknown) } : sound,
    lacksNames: issues.some(({ pointer }) => /^\/(accounts|zones)/.test(pointer)),
    place: ({ pointer, message }) => ({
      pointer: pointer.replace(ZONE, (_, index: string) => `/zones/${listed[Number(index)]?.[0] ?? index}`),
      message,
    }),
  }
}
