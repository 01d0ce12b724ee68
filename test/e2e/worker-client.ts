import { createHash } from 'node:crypto'
import { ACCOUNT, TOKEN, type Daemon } from './daemon.js'

/** The base URL of what an account has of Workers. */
export const workersOf = ({ control }: Daemon): string => `${control}/accounts/${ACCOUNT}/workers`

const AUTHORIZED = { authorization: `Bearer ${TOKEN}` }

export interface Called<T = unknown> {
  readonly status: number
  readonly result: T
}

/** Calls the API of Workers with JSON, or reads. */
export async function call<T>(daemon: Daemon, method: string, path: string, body?: unknown): Promise<Called<T>> {
  const response = await fetch(workersOf(daemon) + path, {
    method,
    headers: { ...AUTHORIZED, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, result: ((await response.json()) as { result: T }).result }
}

/** Uploads a script and deploys it: its modules by their names, the first the main one. */
export async function uploadScript(
  daemon: Daemon,
  name: string,
  metadata: object,
  modules: Readonly<Record<string, string>> = {},
): Promise<Called<Record<string, unknown>>> {
  const form = new FormData()
  const [main] = Object.keys(modules)
  form.append('metadata', JSON.stringify({ ...(main !== undefined && { main_module: main }), ...metadata }))
  for (const [file, text] of Object.entries(modules)) {
    const type = file.endsWith('.js') ? 'application/javascript+module' : 'text/plain'
    form.append(file, new File([text], file, { type }))
  }
  const response = await fetch(`${workersOf(daemon)}/scripts/${name}`, {
    method: 'PUT',
    headers: AUTHORIZED,
    body: form,
  })
  return { status: response.status, result: ((await response.json()) as { result: Record<string, unknown> }).result }
}

/** Uploads the files of a Worker that are missing; with the token for the upload of the script, and how each bucket was answered. */
export async function uploadFiles(
  daemon: Daemon,
  name: string,
  files: ReadonlyMap<string, Buffer>,
  type = 'text/html; charset=utf-8',
): Promise<{ readonly jwt: string; readonly sent: number; readonly statuses: readonly number[] }> {
  const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex').slice(0, 32)
  const byHash = new Map([...files.values()].map((bytes) => [hashOf(bytes), bytes]))
  const announced = [...files].map(([path, bytes]) => [path, { hash: hashOf(bytes), size: bytes.length }] as const)
  const manifest = Object.fromEntries(announced)
  type Session = { jwt: string; buckets: string[][] }
  const opened = await call<Session>(daemon, 'POST', `/scripts/${name}/assets-upload-session`, { manifest })
  if (opened.status !== 200) throw new Error(`the files of ${name} were refused with ${opened.status}`)
  const { jwt, buckets } = opened.result
  let completion = jwt
  const statuses: number[] = []
  for (const bucket of buckets) {
    const form = new FormData()
    for (const hash of bucket) form.append(hash, new File([byHash.get(hash)!.toString('base64')], hash, { type }))
    const headers = { authorization: `Bearer ${jwt}` }
    const url = `${workersOf(daemon)}/assets/upload?base64=true`
    const response = await fetch(url, { method: 'POST', headers, body: form })
    const { result } = (await response.json()) as { result: { jwt?: string } | null }
    if (!result) throw new Error(`files of ${name} were refused with ${response.status}`)
    completion = result.jwt ?? completion
    statuses.push(response.status)
  }
  return { jwt: completion, sent: buckets.flat().length, statuses }
}
