import { useState } from 'react'
import type { Params, Rule } from './rule.ts'
import { newLimit } from './actions/rate-limit.tsx'
import { phaseNamed } from './phases.ts'

/** A rule in work. */
export interface Draft {
  readonly description: string
  readonly expression: string
  readonly action: string
  readonly action_parameters?: Params | undefined
  readonly ratelimit?: Params | undefined
  readonly enabled: boolean
}

export const emptyDraft = (phase: string, expression: string): Draft => ({
  description: '',
  expression,
  action: phaseNamed(phase).actions.length === 1 ? phaseNamed(phase).actions[0]! : '',
  enabled: true,
  ...(phase === 'http_ratelimit' && { ratelimit: newLimit() }),
})

export const draftOf = ({
  description = '',
  expression,
  action,
  action_parameters,
  ratelimit,
  enabled = true,
}: Rule): Draft => ({
  description,
  expression,
  action,
  enabled,
  ...(action_parameters && { action_parameters }),
  ...(ratelimit && { ratelimit }),
})

/** Returns the body of a request. `old`: members that are gone have to be sent as empty. */
export function bodyOf(draft: Draft, old: Rule | undefined): Params {
  const { action_parameters: params, ratelimit, ...rest } = draft
  const wasThere = old?.action_parameters !== undefined
  return {
    ...rest,
    ...(params === undefined ? wasThere && { action_parameters: {} } : { action_parameters: params }),
    ...(ratelimit && { ratelimit }),
  }
}

/** A draft that outlives the sheet, under its address, until it is stored or discarded. */
export function useDraft(key: string, initial: Draft) {
  const stored = `edged.draft.${key}`
  const [draft, setDraft] = useState<Draft>(() => read(stored) ?? initial)
  const isDirty = JSON.stringify(draft) !== JSON.stringify(initial)
  return {
    draft,
    isDirty,
    change: (part: Partial<Draft>): void => {
      const next = { ...draft, ...part }
      setDraft(next)
      sessionStorage.setItem(stored, JSON.stringify(next))
    },
    forget: (): void => sessionStorage.removeItem(stored),
  }
}

function read(stored: string): Draft | undefined {
  const text = sessionStorage.getItem(stored)
  try {
    return text === null ? undefined : (JSON.parse(text) as Draft)
  } catch {
    return undefined
  }
}
