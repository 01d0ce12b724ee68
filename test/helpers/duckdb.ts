/** DuckDB of `test/peers`, as a second reader of Parquet files. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'

const PEERS = resolve('test/peers/package.json')

/** The reason why DuckDB cannot be used, or false. */
export const NO_DUCKDB = existsSync(resolve('test/peers/node_modules/@duckdb/node-api'))
  ? false
  : 'needs DuckDB: npm install --prefix test/peers'

interface Connection {
  runAndReadAll(sql: string): Promise<{ getRowsJson(): unknown[][] }>
}

/** Returns what runs a statement and returns its rows, with large integers and times as texts. */
export async function duckdb(): Promise<(sql: string) => Promise<unknown[][]>> {
  const { DuckDBInstance } = createRequire(PEERS)('@duckdb/node-api') as {
    readonly DuckDBInstance: { create(path: string): Promise<{ connect(): Promise<Connection> }> }
  }
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  return async (sql) => (await connection.runAndReadAll(sql)).getRowsJson()
}
