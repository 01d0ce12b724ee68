const REFUSED = -111 // ECONNREFUSED of Linux

type Connect = (request: unknown, address: string, port: number) => number

/**
 * Takes the system call out of Node's TCP handles: notes the addresses that would be connected to, and refuses. Everything
 * above it, lookups and the race between address families among them, runs as it is.
 */
export function recordDialled(): { readonly addresses: string[]; restore(): void } {
  // The only way to see what the kernel would be asked: Node has no seam below `net.Socket`.
  const { binding } = process as unknown as { binding(name: string): { TCP: { prototype: Record<string, Connect> } } }
  const handle = binding.call(process, 'tcp_wrap').TCP.prototype
  const real = { connect: handle['connect']!, connect6: handle['connect6']! }
  const addresses: string[] = []
  const note: Connect = (_request, address) => {
    addresses.push(address)
    return REFUSED
  }
  Object.assign(handle, { connect: note, connect6: note })
  return { addresses, restore: () => void Object.assign(handle, real) }
}
