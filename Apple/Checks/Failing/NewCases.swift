// fails: switch covers known cases, but 'NWError' may have additional unknown values
import Network

func text(_ error: NWError) -> String {
  switch error {
  case .posix: "posix"
  case .dns: "dns"
  case .tls: "tls"
  }
}
