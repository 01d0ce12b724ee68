import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { RunStats } from '../../../pipelines/sources/intake/run-stats.js'
import { readPipelines } from '../../../src/config/pipeline-file.js'
import { systemClock as clock } from '../../../src/core/clock.js'
import { silentLog as log } from '../../../src/core/log.js'
import { destinationChecks } from '../../../src/daemon/pipelines/destinations.js'
import { runPipeline } from '../../../src/daemon/pipelines/run.js'
import { findWorkerd } from '../../../src/workers/runtime/binary.js'
import { testFolder } from '../../helpers/folder.js'

/** Why tests that run modules are skipped, or false. */
export const NO_RUNTIME = findWorkerd() === undefined && 'the npm package workerd is not installed'

export const checks = destinationChecks({ clock, log })

export interface Ran {
  readonly stats: RunStats
  /** Invalid records with their place, the folder left out. */
  readonly invalid: readonly string[]
  /** Text of all delivered batches. */
  readonly text: string
  /** The same as records. */
  readonly records: readonly Record<string, unknown>[]
  readonly files: readonly { readonly name: string; readonly bytes: Buffer }[]
}

/** A folder with a module and a pipeline, which can run several times. */
export interface TransformRun {
  readonly folder: string
  run(input: string, options?: { readonly resume?: boolean }): Promise<Ran>
}

/** Makes a pipeline from `in.ndjson` to `out`, with a module and more members. */
export function transformed(t: Test, module: string, more = 'dataset: any'): TransformRun {
  const folder = testFolder(t, { 'clean.js': module })
  return {
    folder,
    async run(input, { resume = false } = {}) {
      writeFileSync(join(folder, 'in.ndjson'), input)
      const text = `source: { file: ./in.ndjson }\ntransform: ./clean.js\ndestination_conf: file:out\n${more}\n`
      const [pipeline] = readPipelines(text, join(folder, 'p.yaml'), checks, {})
      const invalid: string[] = []
      const stats = new RunStats((place, message) => invalid.push(`${place}: ${message}`.replace(`${folder}/`, '')))
      const options = { state: join(folder, 'state'), resume, stats, tell: () => {}, size: () => {}, clock, log }
      const end = await runPipeline(pipeline!, { ...options, stop: new AbortController().signal })
      t.equal(end.end, 'done')
      const out = join(folder, 'out')
      const found = existsSync(out) ? readdirSync(out, { recursive: true, withFileTypes: true }) : []
      const files = found
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .toSorted()
        .map((path) => ({ name: path.slice(out.length + 1), bytes: readFileSync(path) }))
      const all = files.map(({ name, bytes }) => (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()).join('')
      return { stats, invalid, text: all, records: recordsOf(all), files }
    },
  }
}

const recordsOf = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
