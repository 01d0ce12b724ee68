/** Why a signature cannot pay: it has paid before, or too many are remembered. */
export type Unspendable = 'used' | 'full'

/** Remembers the signatures that have paid, until they expire. */
export interface SpentSignatures {
  /**
   * Records that a signature pays. `expires`: seconds since 1970. Resolves with a reason if it cannot pay. Rejects if nothing
   * can be recorded now.
   */
  spend(id: string, expires: number): Promise<Unspendable | undefined>
  /** Forgets a signature whose request was not charged. Resolves when it can pay again. */
  release(id: string): Promise<void>
}

/** Signatures that are remembered. */
export const MAX_SPENT = 100_000
/** A signature is accepted for 30 s after it expires, because clocks differ. Clocks of machines differ too. */
export const SPENT_GRACE_SECONDS = 120

/** The memory of one process, for a proxy without a store. */
export function spentInMemory(now: () => number): SpentSignatures {
  const spent = new Map<string, number>()
  const forgetExpired = (): void => {
    for (const [id, expires] of spent) if (expires + SPENT_GRACE_SECONDS < now() / 1000) spent.delete(id)
  }
  return {
    spend: async (id, expires) => {
      await Promise.resolve()
      if (spent.has(id)) return 'used'
      if (spent.size >= MAX_SPENT) forgetExpired()
      if (spent.size >= MAX_SPENT) return 'full'
      spent.set(id, expires)
      return undefined
    },
    release: async (id) => {
      await Promise.resolve()
      spent.delete(id)
    },
  }
}
