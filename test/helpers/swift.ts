import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { S3Client } from '@aws-sdk/client-s3'
import type { Test } from 'tap'
import { testFolder } from './folder.js'

// Not the first `python3` of the path: Debian's own has the packages of Debian.
const PYTHON = '/usr/bin/python3'

/** Why tests with a real S3 server are skipped; false if it is installed. */
export const NO_SWIFT: string | false =
  spawnSync(PYTHON, ['-c', 'import swift.common.middleware.s3api']).status === 0
    ? false
    : 'OpenStack Swift (python3-swift) is not installed'

/** OpenStack Swift with its S3 interface on 127.0.0.1. */
export interface SwiftServer {
  readonly port: number
  readonly id: string
  readonly secret: string
}

/** Starts a server for one test. */
export async function swiftServer(t: Test): Promise<SwiftServer> {
  const script = new URL('swift-server.py', import.meta.url).pathname
  const child = spawn(PYTHON, [script, testFolder(t)], { stdio: 'pipe' })
  t.teardown(async () => {
    if (child.exitCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  const complaints: string[] = []
  child.stderr.on('data', (text) => complaints.push(String(text)))
  const [said] = (await Promise.race([once(child.stdout, 'data'), once(child, 'close')])) as [unknown]
  const port = Number(said)
  if (!(port > 0)) throw new Error(`the server ended while it started: ${complaints.join('').slice(-400)}`)
  return { port, id: 'test:tester', secret: 'testing' }
}

/** Returns the official client for a server, until the end of the test. */
export function swiftClient(t: Test, { port, id, secret }: SwiftServer): S3Client {
  const client = new S3Client({
    region: 'us-east-1',
    endpoint: `http://127.0.0.1:${port}`,
    forcePathStyle: true,
    credentials: { accessKeyId: id, secretAccessKey: secret },
    requestChecksumCalculation: 'WHEN_REQUIRED',
  })
  t.teardown(() => client.destroy())
  return client
}
