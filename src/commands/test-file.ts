import { batchOf, changedBatchOf } from '../../pipelines/run/batch-of.js'
import { recordText } from '../../pipelines/sources/lines/record-text.js'
import { jsonText } from '../../pipelines/logpush/spool/json-text.js'
import { outputName, type OutputTest, type Pipeline, type PipelineOutput } from '../config/pipeline.js'
import { loadPipelines } from '../config/pipeline-file.js'
import { systemClock } from '../core/clock.js'
import { silentLog } from '../core/log.js'
import type { RecordTransform } from '../core/extension/record-transform.js'
import { destinationChecks } from '../daemon/pipelines/destinations.js'
import { Transforms } from '../daemon/pipelines/transforms.js'
import { Exit } from './common/command.js'

/** Runs the tests of a pipeline file and prints the outcome. Throws an Exit if some failed. */
export async function testFile(file: string): Promise<void> {
  const pipelines = loadPipelines(file, destinationChecks({ clock: systemClock, log: silentLog }))
  const results: { name: string; issues: string[] }[] = []
  for (const pipeline of pipelines)
    for (const output of pipeline.outputs) {
      const transform = openOnce(output)
      for (const [index, test] of output.tests.entries()) {
        const name = `${outputName(pipeline, output)}: ${test.name ?? `test ${index + 1}`}`
        results.push({ name, ...(await outcome(pipeline, output, test, transform)) })
      }
      await transform?.close()
    }
  for (const { name, issues } of results)
    process.stdout.write([`${issues.length === 0 ? 'ok' : 'not ok'} - ${name}`, ...issues, ''].join('\n'))
  if (results.length === 0)
    process.stderr.write(`edged: ${file} has no tests; add some below tests:, as the files in config/pipelines/ have\n`)
  const failed = results.filter(({ issues }) => issues.length > 0).length
  process.stdout.write(`${results.length - failed} passed, ${failed} failed\n`)
  if (failed > 0) throw new Exit(1, `${file}: ${failed} of ${results.length} tests failed`)
}

/** Starts the transform of an output. Its runtime has no state. */
function openOnce({ job, route = '' }: PipelineOutput): RecordTransform | undefined {
  const { transform } = job.settings
  return transform && new Transforms(systemClock).opener(`edged test ${process.pid}`)(transform, route)
}

async function outcome(
  { lines, on_invalid: onInvalid }: Pipeline,
  { job }: PipelineOutput,
  { input, output }: OutputTest,
  transform: RecordTransform | undefined,
): Promise<{ issues: string[] }> {
  const line = recordText(lines)
  const texts = input.map((record) => (typeof record === 'string' ? record : jsonText(record)))
  // Objects are records. Texts are lines in the format of the source.
  const read = (record: string, index: number) =>
    Buffer.from(line === undefined || typeof input[index] === 'object' ? record : line(Buffer.from(record)))
  const made = transform === undefined ? batchOf(job, texts, read) : changedBatchOf(job, texts, transform, read)
  const { text, rejected } = await made
  const invalid = onInvalid === 'skip' ? [] : rejected
  return {
    issues: [
      ...invalid.map(({ record, message }) => `    record ${record}: ${message}`),
      ...(text === output ? [] : difference(output, text)),
    ],
  }
}

/** Lines that were expected with a minus, lines that came with a plus, between those that are the same. */
function difference(expected: string, found: string): string[] {
  const [old, now] = [expected.split(/(?<=\n)/), found.split(/(?<=\n)/)]
  let same = 0
  while (same < old.length && same < now.length && old[same] === now[same]) same++
  let tail = 0
  while (tail < Math.min(old.length, now.length) - same && old.at(-1 - tail) === now.at(-1 - tail)) tail++
  return [
    ...shown(old.slice(0, same), ' '),
    ...shown(old.slice(same, old.length - tail), '-'),
    ...shown(now.slice(same, now.length - tail), '+'),
    ...shown(now.slice(now.length - tail), ' '),
  ]
}

const shown = (lines: readonly string[], mark: string): string[] =>
  lines.map((line) => `  ${mark} ${line.endsWith('\n') ? line.slice(0, -1) : `${line}\\ without a line break`}`)
