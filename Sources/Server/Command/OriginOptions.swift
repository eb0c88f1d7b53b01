import HoldfastAssistants
import HoldfastBackend
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastServerParts

/// The options of `serve` that add accepted hosts and web origins.
enum OriginOptions {
  static let all: [Assignment<BackendConfiguration>] = [
    .init(
      .repeated(
        "allow-host", .host,
        "also accept clients that address the server by this host, such as the host of a reverse "
          + "proxy, and web pages from this host; with this option, or on a loopback address, all "
          + "other hosts are rejected")
    ) { $0.assistants.originPolicy.hosts = $1 },
    .init(
      .repeated(
        "allow-origin", .origin,
        "also accept assistants and phones that run as web pages of this origin; pages served "
          + "from this machine are always accepted")
    ) { $0.assistants.originPolicy.origins = $1 },
  ]
}

extension Format<String> {
  /// The format for a value of the Host field (RFC 9110 section 7.2).
  fileprivate static let host = Format(
    placeholder: "HOST", expectation: "a host, with the port if it is not the default"
  ) {
    ServerAddress.isAuthority($0[...]) ? OriginPolicy.withoutUsualPort($0.lowercased()) : nil
  }

  /// The format for a value of the Origin field other than `null` (RFC 6454 section 7).
  fileprivate static let origin = Format(
    placeholder: "ORIGIN", expectation: "a scheme and a host, such as https://app.example"
  ) { text in
    let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, ["http", "https"].contains(parts[0].lowercased()) else { return nil }
    guard ServerAddress.isAuthority(parts[1]) else { return nil }
    let (origin, usual) = (text.lowercased(), parts[0].lowercased() == "https" ? ":443" : ":80")
    // Browsers omit the scheme's default port (RFC 6454 section 6.2).
    return origin.hasSuffix(usual) ? String(origin.dropLast(usual.count)) : origin
  }
}
