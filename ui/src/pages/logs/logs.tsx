import { Page } from '../../parts/page.tsx'

export default function Logs() {
  return <Page>Log jobs</Page>
}
