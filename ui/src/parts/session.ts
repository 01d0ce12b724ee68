import { createContext } from 'react'

/** Whether the session is active. While it is not, the sign-in page is shown and sheets wait behind it. */
export const SessionContext = createContext(true)
