import { useMemo } from 'react'
import { useQuery } from '@tanstack/react-query'
import { post } from '../../api/client.ts'
import { useList, useRead } from '../../api/queries.ts'
import { usePlace } from '../../place.tsx'
import type { BuilderField } from '../builder/model.ts'
import type { Checked } from './check.ts'
import { fieldsFor, type Named } from './fields.ts'
import type { Tree, Types } from './text.ts'
import { useSettled } from '../../settled.ts'

/** The rules language as the daemon knows it, with the lists of the account. */
export interface Language {
  readonly names: readonly Named[]
  readonly types: Types
  readonly fields: readonly BuilderField[]
  readonly lists: readonly string[]
}

const NOTHING: readonly never[] = []

export function useLanguage(): Language | undefined {
  const { ofAccount, may } = usePlace()
  const read = useRead<readonly Named[]>(`${ofAccount}/edged/expressions/names`)
  const lists = useList<{ readonly name: string }>(
    may('Account Filter Lists Read') || may('Account Filter Lists Write') ? `${ofAccount}/rules/lists` : undefined,
  )
  const names = read.value
  const named = lists.value
  return useMemo(
    () =>
      names && {
        names,
        types: new Map(names.map(({ name, type }) => [name, type])),
        fields: fieldsFor(names),
        lists: (named ?? NOTHING).map(({ name }) => name),
      },
    [names, named],
  )
}

const CHECK_MS = 300

/** Checks an expression a moment after the last change. Undefined before, and for an empty one. */
export function useCheck(
  expression: string,
  phase: string | undefined,
): { text: string; checked: Checked } | undefined {
  const { ofAccount } = usePlace()
  const text = useSettled(expression, CHECK_MS)
  const { data } = useQuery({
    queryKey: ['check', ofAccount, phase, text],
    queryFn: async () => ({
      text,
      checked: await post<Checked>(`${ofAccount}/edged/expressions/check`, { expression: text, phase }),
    }),
    enabled: text.trim() !== '',
    retry: false,
    staleTime: Infinity,
  })
  return data?.text === expression ? data : undefined
}

/** Reads an expression as a tree. An error: its text is not an expression. */
export function useTree(expression: string | undefined, phase: string | undefined) {
  const { ofAccount } = usePlace()
  return useQuery({
    queryKey: ['parse', ofAccount, phase, expression],
    queryFn: async () => await post<{ tree: Tree }>(`${ofAccount}/edged/expressions/parse`, { expression, phase }),
    enabled: expression !== undefined && expression.trim() !== '',
    retry: false,
    staleTime: Infinity,
  })
}
