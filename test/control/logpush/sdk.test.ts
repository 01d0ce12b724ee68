import Cloudflare from 'cloudflare'
import t from 'tap'
import { ACCOUNT, ADMIN, ZONE } from '../client.js'
import { HTTPS, logpushClient } from './helper.js'

type Job = Cloudflare.Logpush.LogpushJob
/** Members of a job in the types of the client, and `filter`, with a check of each value. */
const MEMBERS: Readonly<Record<string, (value: unknown) => boolean>> = {
  id: Number.isInteger,
  dataset: isText,
  destination_conf: isText,
  enabled: isFlag,
  error_message: orNull(isText),
  filter: orNull(isText),
  filter_attack_traffic: isFlag,
  frequency: orNull((value) => value === 'high' || value === 'low'),
  kind: (value) => value === '' || value === 'edge',
  last_complete: orNull(isText),
  last_error: orNull(isText),
  logpull_options: orNull(isText),
  max_upload_bytes: orNull(Number.isInteger),
  max_upload_interval_seconds: orNull(Number.isInteger),
  max_upload_records: orNull(Number.isInteger),
  name: orNull(isText),
  output_options: orNull((value) => typeof value === 'object'),
  edged: (value) => (value as { state?: unknown }).state === 'off',
  edged_source: (value) => value === null,
}

for (const scope of [{ account_id: ACCOUNT }, { zone_id: ZONE }])
  t.test(`the official client uses all of log push: ${Object.keys(scope)[0]!}`, async (t) => {
    const { url, destinations } = await logpushClient(t)
    const { logpush } = new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: url })
    const dataset = 'account_id' in scope ? ('gateway_dns' as const) : ('http_requests' as const)
    const field = dataset === 'gateway_dns' ? 'QueryName' : 'RayID'
    const isJob = (job: Job | null, wanted: object) => {
      t.match(job, wanted)
      for (const [member, value] of Object.entries(job ?? {}))
        t.ok(MEMBERS[member]?.(value), `${member}: ${JSON.stringify(value)}`)
    }

    const output = {
      field_names: [field],
      output_type: 'ndjson' as const,
      batch_prefix: null,
      'CVE-2021-44228': null,
      sample_rate: null,
      record_template: null,
      merge_subrequests: null,
    }
    const limits = { max_upload_bytes: 5_000_000, max_upload_interval_seconds: 30, max_upload_records: 1000 }
    const more = {
      filter: null,
      logpull_options: null,
      frequency: null,
      kind: '' as const,
      filter_attack_traffic: false,
    }
    const made = await logpush.jobs.create({
      ...scope,
      ...limits,
      ...more,
      dataset,
      destination_conf: HTTPS,
      name: 'one',
      output_options: output,
    })
    isJob(made, { ...limits, dataset, enabled: false, name: 'one', destination_conf: HTTPS })
    const id = made!.id!
    isJob(await logpush.jobs.get(id, scope), { id })
    const nothing = { max_upload_bytes: null, max_upload_interval_seconds: 0, max_upload_records: null } as const
    isJob(await logpush.jobs.update(id, { ...scope, ...nothing, name: null, enabled: true, output_options: null }), {
      id,
      name: null,
      enabled: true,
    })
    for await (const job of logpush.jobs.list(scope)) isJob(job, { id })
    const listed = await logpush.jobs.list(scope)
    t.equal(listed.result.length, 1)
    const ofDataset = await logpush.datasets.jobs.get(dataset, scope)
    isJob(ofDataset.result[0]!, { id })
    const fields = await logpush.datasets.fields.get(dataset, scope)
    t.type(fields[field], 'string')
    t.ok(Object.values(fields).every((text) => typeof text === 'string'))

    const s3 = 's3://logs/path?region=us-east-1'
    const challenge = await logpush.ownership.create({ ...scope, destination_conf: s3 })
    t.strictSame(challenge, { filename: 'logs/path/ownership-challenge.txt', message: '', valid: true })
    const token = destinations.files.get(challenge!.filename!)!
    const valid = async (ownership_challenge: string) =>
      (await logpush.ownership.validate({ ...scope, destination_conf: s3, ownership_challenge }))?.valid
    t.equal(await valid(token), true)
    t.equal(await valid(`${token}x`), false)
    isJob(await logpush.jobs.create({ ...scope, dataset, destination_conf: s3, ownership_challenge: token }), {
      destination_conf: s3,
    })
    await t.rejects(logpush.jobs.create({ ...scope, dataset, destination_conf: s3 }), /^400 /)

    t.strictSame(await logpush.validate.destination({ ...scope, destination_conf: HTTPS }), {
      valid: true,
      message: '',
      edged: { status: 200, body: '' },
    })
    t.strictSame(await logpush.validate.destinationExists({ ...scope, destination_conf: HTTPS }), { exists: true })
    const options = `fields=${field}&timestamps=rfc3339`
    if ('zone_id' in scope)
      t.strictSame(await logpush.validate.origin({ ...scope, logpull_options: options }), { valid: true, message: '' })
    t.match(await logpush.validate.origin({ ...scope, logpull_options: null }), { valid: true })

    if ('zone_id' in scope) {
      const session = await logpush.edge.create({ zone_id: ZONE, fields: 'RayID', sample: 1, filter: '' })
      t.match(session, { destination_conf: /^wss?:/, fields: 'RayID', filter: '', sample: 1, session_id: /./ })
      const open = await logpush.edge.get({ zone_id: ZONE })
      t.strictSame(open.result, [session])
    }
    t.strictSame(await logpush.jobs.delete(id, scope), { id })
    await t.rejects(logpush.jobs.get(id, scope), /^404 /)
  })

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isFlag(value: unknown): boolean {
  return typeof value === 'boolean'
}

function orNull(check: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) => value === null || check(value)
}
