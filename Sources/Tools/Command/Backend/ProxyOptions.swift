import CommandKit
import HoldfastBackend
import LinkCore
import LinkServerCore

/// The options of `serve` for proxies in front of it.
enum ProxyOptions {
  static let all: [Assignment<BackendConfiguration>] = [
    .init(
      .repeated(
        "trusted-proxy", .block,
        "take the client's address from Forwarded or X-Forwarded-For if the connection comes from "
          + "this address or block; limits per address then apply to clients, not to the proxy")
    ) { $0.proxies.blocks = $1 }
  ]
}

extension Format<AddressBlock> {
  /// An address, or a block of addresses (RFC 4632).
  fileprivate static let block = Format(
    placeholder: "CIDR", expectation: "an address or a block such as 10.0.0.0/8 or 2001:db8::/32"
  ) {
    AddressBlock($0)
  } write: {
    $0.description
  }
}
