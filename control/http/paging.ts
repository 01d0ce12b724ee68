import { Type } from 'typebox'
import { ApiResponse } from './endpoint.js'

/** Query parameters of a list in pages. */
export const paging = ({ min = 1, max = 50, usual = 20 } = {}) => ({
  page: Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1, description: 'Page, from 1.' }),
  per_page: Type.Integer({ minimum: min, maximum: max, default: usual, description: 'Entries of a page.' }),
})

/** Count and page of a list. */
export const ResultInfo = Type.Object({
  page: Type.Integer(),
  per_page: Type.Integer(),
  count: Type.Integer({ description: 'Entries of this page.' }),
  total_count: Type.Integer({ description: 'Entries of all pages.' }),
  total_pages: Type.Integer(),
})

interface PageQuery {
  readonly page: number
  readonly per_page: number
}

/** Returns one page of `items`, each converted by `show`, with its `result_info`. */
export function page<T, R>(items: readonly T[], { page, per_page }: PageQuery, show: (item: T) => R): ApiResponse<R[]> {
  const result = items.slice((page - 1) * per_page, page * per_page).map((item) => show(item))
  const total_count = items.length
  return new ApiResponse(result, {
    result_info: { page, per_page, count: result.length, total_count, total_pages: Math.ceil(total_count / per_page) },
  })
}

/** Returns a complete list: one page with all items. */
export function whole<T>(items: readonly T[]): ApiResponse<T[]> {
  const count = items.length
  return new ApiResponse([...items], {
    result_info: { page: 1, per_page: Math.max(count, 1), count, total_count: count, total_pages: 1 },
  })
}
