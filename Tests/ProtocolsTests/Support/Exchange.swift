@testable import HoldfastProtocols

/// The events, the output and the final state of an end after it has received its input.
struct Outcome: Equatable {
  var events: [WebSocketEvent]
  var output: [UInt8]
  var state: WebSocketConnection.State
}

/// The configuration of one end, which is under test.
struct End {
  var role = WebSocketRole.client
  var limits = WebSocketLimits(oversize: .close)
  var deflate: DeflateParameters?

  static let client = End()
  static let server = End(role: .server)

  func connection() -> WebSocketConnection {
    WebSocketConnection(role: role, limits: limits, extensions: deflate, maskSeed: 7)
  }

  /// Passes the pieces to a new connection one by one, and returns the result.
  func reads(_ pieces: [[UInt8]]) -> Outcome {
    var connection = connection()
    var events: [WebSocketEvent] = []
    for piece in pieces { connection.receive(piece, into: &events) }
    let state = connection.state
    return Outcome(events: events, output: connection.takeOutput(), state: state)
  }

  func reads(_ bytes: [UInt8]) -> Outcome {
    reads([bytes])
  }

  func events(_ bytes: [UInt8]) -> [WebSocketEvent] {
    reads(bytes).events
  }

  /// Returns the close code with which the end fails, or `nil` if it does not fail.
  func failure(_ bytes: [UInt8]) -> UInt16? {
    guard case .failed(let error)? = events(bytes).last else { return nil }
    return error.code
  }
}

/// Returns a frame with any header, including headers that this package never sends.
func frame(
  _ opcode: UInt8, _ payload: [UInt8] = [], final: Bool = true, reserved: UInt8 = 0,
  mask: [UInt8]? = nil
) -> [UInt8] {
  var bytes: [UInt8] = [(final ? 0x80 : 0) | reserved << 4 | opcode]
  let bit: UInt8 = mask == nil ? 0 : 0x80
  switch payload.count {
  case ..<126: bytes.append(bit | UInt8(payload.count))
  case ..<65_536:
    bytes += [bit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
  case _:
    bytes.append(bit | 127)
    bytes += (0..<8).reversed().map { UInt8(payload.count >> ($0 * 8) & 0xFF) }
  }
  guard let mask else { return bytes + payload }
  return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
}

func closeFrame(_ code: UInt16, _ reason: [UInt8] = []) -> [UInt8] {
  frame(8, [UInt8(code >> 8), UInt8(code & 0xFF)] + reason)
}
