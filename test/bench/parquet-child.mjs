// DuckDB of `test/peers` in a process of its own: `write OUT INPUT...` writes Parquet of NDJSON, `read FOLDER` checks files.
// Tells its result on file descriptor 3.
import { writeSync } from 'node:fs'
import { createRequire } from 'node:module'

const [what, target, ...inputs] = process.argv.slice(2)
const { DuckDBInstance } = createRequire(new URL('../peers/package.json', import.meta.url))('@duckdb/node-api')
const connection = await (await DuckDBInstance.create(':memory:')).connect()
const query = async (sql) => (await connection.runAndReadAll(sql)).getRowsJson()
const list = `[${inputs.map((path) => `'${path}'`).join(',')}]`
let result = {}
if (what === 'write')
  await query(
    `copy (select * from read_json(${list}, format = 'newline_delimited')) to '${target}' (format parquet, compression snappy)`,
  )
else {
  const [[count, sum, ids]] = await query(
    `select count(*), sum(EdgeResponseStatus), count(distinct RayID) from read_parquet('${target}/**/*.parquet')`,
  )
  result = { count: Number(count), sum: Number(sum), ids: Number(ids) }
}
const { user, system } = process.cpuUsage()
writeSync(3, JSON.stringify({ ...result, cpu: (user + system) / 1e6, rss: process.resourceUsage().maxRSS * 1.024 }))
process.exit()
