import CCurl
import LinkCore
import LinkProtocols
import LinkRuntime

/// A dial and the connected stream it ends with; dropping it closes the stream.
final class Dial {
  let easy: Easy
  let transfers: Transfers
  let handshake: ClientHandshake
  /// Known once connected.
  var descriptor: Int32 = -1
  private let address: Address

  init(
    _ request: SocketRequest, _ configuration: CurlConfiguration, share: Share
  ) throws(LinkFailure) {
    address = try Address(request.url, query: request.query, schemes: ["ws": false, "wss": true])
    try address.demandPrivacy(configuration)
    for (name, value) in request.headers where !name.isToken || !value.isFieldValue {
      throw .local(detail: "A header's name or value holds a character HTTP forbids.")
    }
    handshake = ClientHandshake(
      host: address.authority, target: address.target,
      headers: request.headers.map { ($0.name, $0.value) },
      key: (0..<16).map { _ in .random(in: 0...255) },
      offersDeflate: configuration.offersDeflate)
    guard let easy = Easy(), let transfers = Transfers() else {
      throw .local(detail: "libcurl could not be set up.")
    }
    (self.easy, self.transfers) = (easy, transfers)
    easy.prepareDial(address, configuration, share: share, timeout: request.openTimeout)
    guard easy.refusal == CURLE_OK else {
      throw .local(detail: "libcurl lacks an option (\(easy.refusal.rawValue)).")
    }
    guard transfers.add(easy) else { throw .local(detail: "libcurl did not take the dial.") }
  }

  deinit {
    transfers.remove(easy)
  }

  func outcome(_ code: CURLcode, phase: LinkFailure.Phase) -> Outcome {
    easy.outcome(code, phase: phase, host: address.host)
  }
}
