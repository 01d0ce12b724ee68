import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Memory in MB, and open handles of a process. */
export interface Usage {
  readonly rss: number
  /** Memory of its child processes. */
  readonly children: number
  readonly sockets: number
  readonly files: number
}

/** Reads what a process uses from /proc. */
export function usageOf(pid: number): Usage {
  let sockets = 0
  let files = 0
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    const target = linkOf(`/proc/${pid}/fd/${fd}`)
    if (target?.startsWith('socket:')) sockets++
    else if (target?.startsWith('/')) files++
  }
  const children = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && parentOf(entry) === pid)
  return { rss: memoryOf(String(pid)), children: children.reduce((sum, id) => sum + memoryOf(id), 0), sockets, files }
}

const statusOf = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    // It ended meanwhile.
    return ''
  }
}

const parentOf = (pid: string): number => Number(/^PPid:\s+(\d+)/m.exec(statusOf(pid))?.[1])
const memoryOf = (pid: string): number => Number(/^VmRSS:\s+(\d+)/m.exec(statusOf(pid))?.[1] ?? 0) / 1024

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}
