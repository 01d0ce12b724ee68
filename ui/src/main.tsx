import { createRoot } from 'react-dom/client'
import { App } from './shell/app.tsx'
import './style/tokens.css'
import './style/base.css'

createRoot(document.querySelector('#app')!).render(<App />)
