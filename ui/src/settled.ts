import { useEffect, useState } from 'react'

const PAUSE_MS = 250

/** Returns a value that follows another one after a pause, for requests that follow typing. */
export function useSettled<T>(value: T, ms = PAUSE_MS): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}
