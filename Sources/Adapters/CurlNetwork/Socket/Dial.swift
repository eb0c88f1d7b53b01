import CHoldfastCurl
import HoldfastCore
import HoldfastProtocols
import HoldfastPorts

/// A dial, and the connected stream that results from it. Releasing the dial closes the stream.
final class Dial {
  let easy: Easy
  let transfers: Transfers
  let handshake: ClientHandshake
  private let poller: Poller
  private let address: Address
  private var descriptor: Int32?

  init(
    _ request: SocketRequest, _ context: Context, configuration: CurlConfiguration
  ) throws(LinkFailure) {
    address = try Address(request.url, query: request.query, schemes: ["ws": false, "wss": true])
    try address.demandPrivacy(configuration)
    for (name, value) in request.headers where !name.isToken || !value.isFieldValue {
      throw .local(detail: "A header's name or value contains a character that HTTP forbids.")
    }
    for (index, name) in request.subprotocols.enumerated()
    where !name.isToken || request.subprotocols[..<index].contains(name) {
      throw .local(detail: "A subprotocol is not an HTTP token, or is offered twice.")
    }
    handshake = ClientHandshake(
      host: address.authority, target: address.target,
      headers: request.headers.map { ($0.name, $0.value) },
      key: Self.freshKey(),
      offersDeflate: configuration.offersDeflate && request.allowsCompression,
      subprotocols: request.subprotocols)
    guard let easy = Easy(), let transfers = context.transfers() else {
      throw .local(detail: "libcurl could not be set up.")
    }
    (self.easy, self.transfers, poller) = (easy, transfers, context.poller)
    easy.prepareDial(address, configuration, share: context.share, timeout: request.openTimeout)
    guard easy.refusal == CURLE_OK else {
      throw .local(detail: "libcurl lacks an option (\(easy.refusal.rawValue)).")
    }
    guard transfers.add(easy, as: context.number) else {
      throw .local(detail: "libcurl did not accept the dial.")
    }
  }

  /// Returns 16 random bytes (RFC 6455 section 4.1). Each of the two draws is a system call.
  private static func freshKey() -> [UInt8] {
    let halves: (UInt64, UInt64) = (.random(in: 0 ... .max), .random(in: 0 ... .max))
    return unsafe withUnsafeBytes(of: halves) { unsafe Array($0) }
  }

  deinit {
    if let descriptor { poller.forget(descriptor) }
    transfers.remove(easy)
  }

  /// Watches the connected stream for a socket. Returns the failure if it cannot be watched.
  func watch(for number: UInt64) -> LinkFailure? {
    // While other dials are in progress, libcurl closes a stream that ended before any byte was
    // sent.
    guard let descriptor = easy.descriptor else { return .ended }
    self.descriptor = descriptor
    guard poller.watchChanges(of: descriptor, for: .socket(number)) else {
      return Outcome.unwatched
    }
    return nil
  }

  /// The URL of the dial, with the HTTP scheme.
  var url: String { address.url }

  func outcome(_ code: CURLcode, phase: LinkFailure.Phase) -> Outcome {
    easy.outcome(code, phase: phase, host: address.host)
  }
}

extension Dial {
  /// The objects that a dial shares with other dials, and the dial's number.
  struct Context {
    let number: UInt64
    let share: Share
    let poller: Poller
    let transfers: () -> Transfers?
  }
}
