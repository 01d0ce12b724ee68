import { Page } from '../../parts/page.tsx'

export default function Requests() {
  return <Page>Requests</Page>
}
