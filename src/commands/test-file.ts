import { batchOf } from '../../pipelines/run/batch-of.js'
import { recordText } from '../../pipelines/sources/lines/record-text.js'
import { jsonText } from '../../pipelines/logpush/spool/json-text.js'
import { outputName, type OutputTest, type Pipeline, type PipelineOutput } from '../config/pipeline.js'
import { loadPipelines } from '../config/pipeline-file.js'
import { systemClock } from '../core/clock.js'
import { silentLog } from '../core/log.js'
import { destinationChecks } from '../daemon/pipelines/destinations.js'
import { Exit } from './common/command.js'

/** Runs the tests of a pipeline file and prints the outcome. Throws an Exit if some failed. */
export function testFile(file: string): void {
  const pipelines = loadPipelines(file, destinationChecks({ clock: systemClock, log: silentLog }))
  const results = pipelines.flatMap((pipeline) =>
    pipeline.outputs.flatMap((output) =>
      output.tests.map((test, index) => ({
        name: `${outputName(pipeline, output)}: ${test.name ?? `test ${index + 1}`}`,
        ...outcome(pipeline, output, test),
      })),
    ),
  )
  for (const { name, issues } of results)
    process.stdout.write([`${issues.length === 0 ? 'ok' : 'not ok'} - ${name}`, ...issues, ''].join('\n'))
  if (results.length === 0)
    process.stderr.write(`edged: ${file} has no tests; add some below tests:, as the files in config/pipelines/ have\n`)
  const failed = results.filter(({ issues }) => issues.length > 0).length
  process.stdout.write(`${results.length - failed} passed, ${failed} failed\n`)
  if (failed > 0) throw new Exit(1, `${file}: ${failed} of ${results.length} tests failed`)
}

function outcome(
  { lines, on_invalid: onInvalid }: Pipeline,
  { job }: PipelineOutput,
  { input, output }: OutputTest,
): { issues: string[] } {
  const line = recordText(lines)
  const texts = input.map((record) => (typeof record === 'string' ? record : jsonText(record)))
  // Objects are records. Texts are lines in the format of the source.
  const { text, rejected } = batchOf(job, texts, (record, index) =>
    Buffer.from(line === undefined || typeof input[index] === 'object' ? record : line(Buffer.from(record))),
  )
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
