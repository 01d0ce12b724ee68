import { yamlOf } from '../../parts/yaml.ts'
import { MASK } from './destination.ts'

const SECRETS = `# ${MASK} stands for a secret that the API does not show.\n`
const NOT_IN_NAMES = /[^A-Za-z0-9._-]+/g

/** The members of a job that a pipeline has, too. */
interface Copied {
  readonly owner: { readonly type: 'account' | 'zone'; readonly path: string }
  readonly dataset: string
  readonly filter?: string | null
  readonly output_options?: Readonly<Record<string, unknown>> | null
  readonly max_upload_bytes?: number | null
  readonly max_upload_interval_seconds?: number | null
  readonly max_upload_records?: number | null
  readonly edged_in_flight?: number | null
}

/** Returns a job of the API as an item of `pipelines` in the configuration file, which does the same. */
export function jobYaml(job: Copied, name: string, destination: string): string {
  const { owner, dataset, filter, output_options: output, max_upload_bytes: bytes } = job
  const { max_upload_interval_seconds: seconds, max_upload_records: records, edged_in_flight: flight } = job
  const text = yamlOf([
    {
      name: name.replace(NOT_IN_NAMES, '-'),
      source: { [owner.type]: owner.path.split('/').at(-1) },
      dataset,
      ...(filter && { filter }),
      ...(output && Object.keys(output).length > 0 && { output_options: output }),
      ...(seconds && { max_upload_interval_seconds: seconds }),
      ...(records && { max_upload_records: records }),
      ...(bytes && { max_upload_bytes: bytes }),
      ...(flight && { in_flight: flight }),
      destination_conf: destination,
    },
  ])
  return destination.includes(MASK) ? SECRETS + text : text
}
