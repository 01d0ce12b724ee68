import type { ParamSchema } from './contract/params.js'
import type { SinkType } from './contract/sink-type.js'

type Types = Iterable<SinkType>

/** Returns a JSON Schema of the query parameters of every type of destination, by scheme. */
export const destinationSchemas = (types: Types): object => ({
  type: 'object',
  properties: Object.fromEntries(
    [...types].map(({ scheme, form, summary, params }) => [
      scheme,
      { title: form, description: `Each batch becomes ${summary}.`, ...params },
    ]),
  ),
})

/** Returns the table of destinations for docs/logpush.md, in Markdown. Required parameters are bold. */
export function destinationTable(types: Types): string {
  const rows = [...types].map(({ form, summary, params }) => `| \`${form}\` | ${summary} | ${named(params)} |`)
  return ['| `destination_conf` | Each batch becomes | Parameters |', '| --- | --- | --- |', ...rows, ''].join('\n')
}

function named({ properties, required = [], patternProperties }: ParamSchema): string {
  const names = Object.keys(properties).map((name) => (required.includes(name) ? `**${name}**` : name))
  if (patternProperties !== undefined) names.push('header_NAME')
  return names.join(', ')
}
