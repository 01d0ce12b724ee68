import type { Params } from '../rule.ts'

/** What a form of one action gets. Paths are members of `action_parameters`. */
export interface FormProps {
  readonly phase: string
  readonly params: Params | undefined
  readonly get: (...path: string[]) => unknown
  readonly set: (path: readonly string[], value: unknown) => void
  /** The error of a member, by its path below `action_parameters`. */
  readonly error: (...path: string[]) => string | undefined
}

export const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : ''

/** Returns typed text as a member: nothing for an empty one. */
export const orNone = (text: string): string | undefined => (text === '' ? undefined : text)

/** Returns typed digits as a number. Other text stays as it is, so that the API says what is wrong with it. */
export const numberOf = (text: string): number | string | undefined => {
  if (text.trim() === '') return undefined
  const value = Number(text)
  return Number.isNaN(value) ? text : value
}
