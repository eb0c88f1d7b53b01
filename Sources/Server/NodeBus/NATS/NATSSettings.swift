import Glibc
package import HoldfastPorts

/// The servers of a bus over NATS, and how to log in there.
package struct NATSSettings: Sendable {
  /// A server, such as `tls://host:4222`.
  struct Server: Sendable, Hashable {
    let url: String
    /// The host without brackets.
    let host: String
    let isSecure: Bool
  }

  /// The environment variables with credentials. NATS' own command knows them too.
  enum Variable: String, CaseIterable {
    /// A user, or a token if there is no password.
    case user = "NATS_USER"
    case password = "NATS_PASSWORD"
    /// The path of a credentials file.
    case credentials = "NATS_CREDS"
    /// The path of a PEM file with the authorities of the servers' certificates.
    case authorities = "NATS_CA"
    /// The path of a PEM file with the certificate of this node.
    case certificate = "NATS_CERT"
    case key = "NATS_KEY"
  }

  let servers: [Server]
  let values: [Variable: String]

  /// Reads a list of URLs with commas, and the credentials.
  ///
  /// - Parameter environment: A function that returns the value of an environment variable.
  /// - Throws: `.denied` if the list is invalid, contains credentials or mixes TLS with plain TCP, or
  ///   if only one of certificate and key is given.
  package init(
    _ urls: String, environment: (String) -> String? = Self.processVariable
  ) throws(StoreFailure) {
    guard !urls.contains("@") else {
      throw .denied(
        detail: "The bus's URL contains a user, and other users of this machine can see it. Set "
          + "NATS_USER and NATS_PASSWORD in the environment, or NATS_CREDS to the path of a "
          + "credentials file.")
    }
    let servers = urls.split(separator: ",", omittingEmptySubsequences: false).map(Server.init)
    guard !servers.contains(nil) else {
      throw .denied(
        detail: "The bus must be one or more URLs such as nats://host1:4222,nats://host2:4222, or "
          + "with tls in place of nats.")
    }
    self.servers = servers.compactMap(\.self)
    // Otherwise an outage of one server would send the credentials over plain TCP.
    guard Set(self.servers.map(\.isSecure)).count == 1 else {
      throw .denied(detail: "The servers of the bus must all have URLs with nats, or all with tls.")
    }
    values = Variable.allCases.reduce(into: [:]) { $0[$1] = environment($1.rawValue) }
    guard (values[.certificate] == nil) == (values[.key] == nil) else {
      throw .denied(detail: "NATS_CERT needs NATS_KEY, and NATS_KEY needs NATS_CERT.")
    }
  }

  /// Returns the value of an environment variable of this process; `nil` if it is not set or empty.
  package static func processVariable(_ name: String) -> String? {
    let value = unsafe getenv(name).map { unsafe String(cString: $0) }
    return value == "" ? nil : value
  }
}

extension NATSSettings.Server {
  /// Reads a URL with a host and an optional port. Returns `nil` if it has anything else.
  init?(_ url: Substring) {
    let schemes = ["nats://": false, "tls://": true]
    guard let (scheme, isSecure) = schemes.first(where: { url.hasPrefix($0.key) }) else {
      return nil
    }
    let place = url.dropFirst(scheme.count)
    let isLiteral = place.hasPrefix("[")
    let ended = isLiteral ? place.firstIndex(of: "]").map(place.index(after:)) : nil
    let end = ended ?? place.firstIndex(of: ":") ?? place.endIndex
    let host = isLiteral ? place[..<end].dropFirst().dropLast() : place[..<end]
    let port = place[end...]
    let isHost = host.allSatisfy { character in
      character.isASCII && (character.isLetter || character.isNumber || "-._".contains(character))
        || isLiteral && character == ":"
    }
    guard !host.isEmpty, isHost, !isLiteral || ended != nil else { return nil }
    if !port.isEmpty {
      guard port.hasPrefix(":"), let number = UInt16(port.dropFirst()), number > 0 else {
        return nil
      }
    }
    (self.url, self.host, self.isSecure) = (String(url), String(host), isSecure)
  }
}
