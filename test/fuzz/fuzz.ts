import { stream, type Random } from '../simulator/random.js'
import { Coverage } from './coverage.js'
import { TARGETS } from './targets.js'

/** An input must not take longer, in ms of the processor. */
const MAX_MS = 1000
const MAX_LENGTH = 4096
/** Bytes that mean something to most readers. */
const WORDS = [
  '\r\n',
  '\n',
  '\0',
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  '(',
  ')',
  ':',
  ',',
  ';',
  '=',
  '<',
  '>',
  '&',
  '%',
  '-',
  '0',
  '9007199254740993',
  '\u00ff',
  '*',
  '/',
  '..',
  ' and ',
  'null',
]

export interface Finding {
  readonly input: Buffer
  readonly reason: string
}

/** Runs a target with mutations of its seeds and of each input that reached new code. Resolves with what is wrong. */
export async function fuzz(
  name: string,
  { runs, seed }: { readonly runs: number; readonly seed: number },
): Promise<{ findings: readonly Finding[]; reached: number; corpus: number }> {
  const { seeds, run } = TARGETS[name]!
  const random = stream(seed, name)
  const corpus: Buffer[] = seeds.map((text) => Buffer.from(text, 'latin1'))
  const findings: Finding[] = []
  const coverage = new Coverage()
  try {
    for (let at = 0; at < runs && findings.length === 0; at++) {
      const input = at < seeds.length ? corpus[at]! : mutated(random, corpus)
      const begin = process.cpuUsage()
      try {
        await run(input, random)
      } catch (error) {
        findings.push({ input, reason: error instanceof Error ? (error.stack ?? error.message) : String(error) })
      }
      const ms = process.cpuUsage(begin).user / 1000
      if (ms > MAX_MS) findings.push({ input, reason: `took ${Math.round(ms)} ms` })
      if (coverage.isNew() && at >= seeds.length) corpus.push(input)
    }
    return { findings, reached: coverage.size, corpus: corpus.length }
  } finally {
    coverage.close()
  }
}

function mutated(random: Random, corpus: readonly Buffer[]): Buffer {
  let bytes: Uint8Array = random.pick(corpus)
  for (let times = 1 + random.below(4); times > 0; times--) {
    const from = random.below(bytes.length + 1)
    const to = Math.min(bytes.length, from + random.below(random.chance(0.2) ? 64 : 3))
    const put: Uint8Array = random.pick<() => Uint8Array>([
      () => Buffer.from(random.pick(WORDS), 'latin1'),
      () => Buffer.of(random.below(256)),
      () => Buffer.alloc(0),
      () => slice(random, random.pick(corpus)),
      () => bytes.subarray(from, to),
    ])()
    bytes = Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(random.chance(0.5) ? from : to)])
  }
  return Buffer.from(bytes.subarray(0, MAX_LENGTH))
}

function slice(random: Random, bytes: Buffer): Buffer {
  const from = random.below(bytes.length + 1)
  return bytes.subarray(from, from + random.below(32))
}
