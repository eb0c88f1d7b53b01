package import HoldfastCore
package import HoldfastPorts
package import HoldfastProtocols

extension ClientHandshake {
  /// Creates the handshake of a request.
  ///
  /// - Parameters:
  ///   - authority: The value of the `Host` field.
  ///   - target: The path and query.
  /// - Throws: `.local` if HTTP does not allow a header or a subprotocol of the request.
  package init(
    _ request: SocketRequest, authority: String, target: String, offersDeflate: Bool
  ) throws(LinkFailure) {
    for (name, value) in request.headers where !name.isToken || !value.isFieldValue {
      throw .local(detail: "A header's name or value contains a character that HTTP forbids.")
    }
    for (index, name) in request.subprotocols.enumerated()
    where !name.isToken || request.subprotocols[..<index].contains(name) {
      throw .local(detail: "A subprotocol is not an HTTP token, or is offered twice.")
    }
    self.init(
      host: authority, target: target, headers: request.headers.map { ($0.name, $0.value) },
      key: Self.freshKey(), offersDeflate: offersDeflate && request.allowsCompression,
      subprotocols: request.subprotocols)
  }

  /// Returns 16 random bytes (RFC 6455 section 4.1). Each of the two draws is a system call.
  private static func freshKey() -> [UInt8] {
    let halves: (UInt64, UInt64) = (.random(in: 0 ... .max), .random(in: 0 ... .max))
    return unsafe withUnsafeBytes(of: halves) { unsafe Array($0) }
  }
}
