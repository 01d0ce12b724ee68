import { createRoot } from 'react-dom/client'
import { App } from './shell/app.tsx'

createRoot(document.querySelector('#app')!).render(<App />)
