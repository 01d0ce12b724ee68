import { Type } from 'typebox'
import { Reply } from './endpoint.js'

/** Query parameters of a list in pages. */
export const paging = ({ least = 1, most = 50, usual = 20 } = {}) => ({
  page: Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1, description: 'Page, from 1.' }),
  per_page: Type.Integer({ minimum: least, maximum: most, default: usual, description: 'Entries of a page.' }),
})

/** Count and page of a list. */
export const ResultInfo = Type.Object({
  page: Type.Integer(),
  per_page: Type.Integer(),
  count: Type.Integer({ description: 'Entries of this page.' }),
  total_count: Type.Integer({ description: 'Entries of all pages.' }),
  total_pages: Type.Integer(),
})

/** One page of `items`, with its `result_info`. */
export function page<T>(items: readonly T[], query: { readonly page: number; readonly per_page: number }): Reply<T[]> {
  const { page, per_page } = query
  const shown = items.slice((page - 1) * per_page, page * per_page)
  const total_count = items.length
  return new Reply(shown, {
    result_info: { page, per_page, count: shown.length, total_count, total_pages: Math.ceil(total_count / per_page) },
  })
}

/** A list that comes whole: one page of everything. */
export function whole<T>(items: readonly T[]): Reply<T[]> {
  const count = items.length
  return new Reply([...items], {
    result_info: { page: 1, per_page: count, count, total_count: count, total_pages: 1 },
  })
}
