import type { Clock } from '../../core/clock.js'
import type { Scope } from '../../core/scope.js'
import { sqlStatements } from '../storage/sql-statements.js'
import type { Runtime } from './runtime.js'

/** A statement with the values of its placeholders. */
export interface SqlQuery {
  readonly sql: string
  readonly params?: readonly unknown[] | undefined
}

export interface SqlMeta {
  readonly duration: number
  readonly changes?: number
  readonly rows_read?: number
  readonly rows_written?: number
  readonly size_after?: number
  readonly [member: string]: unknown
}

export interface SqlResult<R> {
  readonly success: true
  readonly results: R
  readonly meta: SqlMeta
}

/** Rows as objects, or as arrays after the names of the columns. */
export type RowFormat = 'ARRAY_OF_OBJECTS' | 'ROWS_AND_COLUMNS'
export type ObjectRows = readonly Readonly<Record<string, unknown>>[]
export interface ArrayRows {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
}

/** The database rejects the SQL. */
export class SqlError extends Error {
  override readonly name = 'SqlError'
}

export interface DumpOptions {
  readonly noSchema: boolean
  readonly noData: boolean
  readonly tables: readonly string[]
}

/** Queries databases from outside of scripts. */
export class Databases {
  readonly #runtime: Runtime
  readonly #clock: Clock

  constructor(runtime: Runtime, clock: Clock) {
    this.#runtime = runtime
    this.#clock = clock
  }

  /** Runs queries in one transaction. Resolves with one result per statement. Rejects with {@link SqlError}. */
  async query<R>(scope: Scope, id: string, queries: readonly SqlQuery[], format: RowFormat): Promise<SqlResult<R>[]> {
    const body = JSON.stringify(queries.flatMap(statements))
    const path = `/query?resultsFormat=${format}`
    const began = this.#clock.monotonic()
    const sent = (await this.#runtime.query(scope, id, path, body)) as
      readonly SqlResult<R>[] | { readonly success: false; readonly error?: string }
    if ('error' in sent || !Array.isArray(sent))
      throw new SqlError((sent as { error?: string }).error ?? 'the query failed')
    const duration = this.#clock.monotonic() - began
    return (sent as readonly SqlResult<R>[]).map((one) => ({ ...one, meta: { ...one.meta, duration } }))
  }

  /** Resolves with SQL that creates the database again. */
  async dump(scope: Scope, id: string, { noSchema, noData, tables }: DumpOptions): Promise<string> {
    const params = [Number(noSchema), Number(noData), ...tables]
    const sql = 'PRAGMA miniflare_d1_export(?,?,?);'
    const [result] = await this.query<readonly (readonly string[])[]>(scope, id, [{ sql, params }], 'ROWS_AND_COLUMNS')
    return `${(result?.results[0] ?? []).join('\n')}\n`
  }
}

/** Splits a text with several statements, because the runtime responds only with the last result of such a text. */
function statements({ sql, params }: SqlQuery): SqlQuery[] {
  const found = sqlStatements(sql)
  if (found.length > 1 && params !== undefined && params.length > 0)
    throw new SqlError('params need a single statement; use batch for several')
  return found.map((one) => ({ sql: one, params: params ?? [] }))
}
