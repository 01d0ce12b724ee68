import type { Test } from 'tap'
import { BatchText, compileFormat, DATASETS, Scanner, type Dataset } from '../../../pipelines/records/index.js'

export const named = (name: string): Dataset => {
  const dataset = DATASETS.get(name)
  if (dataset === undefined) throw new Error(`no dataset ${name}`)
  return dataset
}

export const httpRequests = named('http_requests')

/** The file that a job with these options writes for these records. */
export function written(options: object, lines: readonly string[], dataset = httpRequests): string {
  const scanner = new Scanner(dataset)
  const batch = new BatchText(compileFormat(dataset, options))
  for (const line of lines) batch.add(scanner.scan(Buffer.from(line)))
  return Buffer.from(batch.close()).toString()
}

/** The text of a field's value after a scan; undefined where it is missing. */
export function scannedText(line: string | Uint8Array, field: string, dataset = httpRequests): string | undefined {
  const { bytes, starts, ends } = new Scanner(dataset).scan(Buffer.from(line))
  const place = dataset.places.get(field) ?? -1
  return starts[place]! < 0 ? undefined : Buffer.from(bytes.subarray(starts[place], ends[place])).toString()
}

/** Two options and one record that most cases begin with. */
export const names = (...field_names: string[]) => ({ field_names })
export const csv = (...field_names: string[]) => ({ output_type: 'csv', field_names })
export const RAY = '{"RayID":"r1","EdgeResponseStatus":200}'
export const TWO = [RAY, '{"RayID":"r2","EdgeResponseStatus":404}']
export const BOTH = ['RayID', 'EdgeResponseStatus']
export const GUARD = { 'CVE-2021-44228': true }

/** Options and records, and the file that they become, byte for byte. */
export type FormatCase = [what: string, options: object, lines: string[], want: string]

export function formats(t: Test, cases: readonly FormatCase[]): void {
  for (const [what, options, lines, want] of cases) t.test(what, async (t) => t.equal(written(options, lines), want))
}
