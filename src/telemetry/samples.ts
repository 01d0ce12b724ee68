import type { Metrics } from '../core/metrics/metrics.js'

/** One value of a metric. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g
const ESCAPES: Readonly<Record<string, string>> = { n: '\n' }

/** Reads Prometheus text. Returns only metrics whose name begins with `prefix`. Ignores lines that it cannot read. */
export function readSamples(text: string, prefix = ''): Sample[] {
  const found: Sample[] = []
  for (const line of text.split('\n')) {
    if (line.startsWith('#') || !line.startsWith(prefix)) continue
    const [, name, labels = '', value] = LINE.exec(line) ?? []
    if (name === undefined) continue
    found.push({ name, labels: readLabels(labels), value: Number(value) })
  }
  return found
}

/** Returns the values of the metrics of a registry whose name begins with `prefix`. */
export async function registrySamples(registry: Metrics, prefix: string): Promise<Sample[]> {
  const found: Sample[] = []
  for (const { name } of registry.getMetricsAsArray()) {
    if (!name.startsWith(prefix)) continue
    const values = (await registry.getSingleMetric(name)?.get())?.values ?? []
    for (const { labels, value } of values) found.push({ name, labels: labels as Sample['labels'], value })
  }
  return found
}

const readLabels = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(LABEL)].map(([, name = '', value = '']) => [
      name,
      value.replaceAll(/\\(.)/g, (_, char: string) => ESCAPES[char] ?? char),
    ]),
  )
