import Foundation
import HoldfastCore
import HoldfastHeldSocket
import HoldfastProtocols

/// The properties of the headers that a user passes to a held socket, and of the inputs of a held
/// socket.
enum HeldSocketProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let choice = choices.byte()
    if choice & 1 == 0 {
      try header(String(decoding: choices.rest, as: UTF8.self))
    } else {
      let kinds = SocketSettings.Outbox.allCases
      try run(Array(choices.rest), kinds[Int(choice >> 1) % kinds.count])
    }
  }

  /// Checks that an accepted header adds exactly one line to the request and does not replace a
  /// field of the handshake.
  private static func header(_ line: String) throws(Broken) {
    guard let field = ClientHandshake.field(line) else { return }
    let (with, without) = (request([(field.name, field.value)]), request([]))
    let text = Array("\(field.name):\(field.value.isEmpty ? "" : " ")\(field.value)\r\n".utf8)
    let lines = Array("\(field.name): \(field.value)\r\n".utf8)
    try hold(
      with.count - without.count == text.count || with.count - without.count == lines.count,
      "a header adds its own line only")
    let name = field.name
    try hold(!name.hasPrefix("sec-websocket-") && name != "host", "a header is not the handshake's")
  }

  private static func request(_ headers: [(String, String)]) -> [UInt8] {
    ClientHandshake(
      host: "h", target: "/", headers: headers, key: Array(repeating: 1, count: 16),
      offersDeflate: false
    ).requestBytes
  }

  /// Passes the inputs of a journal to a held socket, one per line. Any other line is passed as a
  /// received text message.
  private static func run(_ bytes: [UInt8], _ outbox: SocketSettings.Outbox) throws(Broken) {
    var settings = SocketSettings(policy: .socket)
    settings.outbox = outbox
    var model = SocketModel(settings, seed: 1)
    var now = Instant.zero
    for line in bytes.split(separator: 0x0A).prefix(200) {
      now = now.advanced(by: .seconds(1))
      var effects = model.deadline.map { $0 <= now } == true ? model.tick(at: now) : []
      let attempt = model.link.currentAttempt ?? AttemptID(1)
      let input =
        (try? JSONDecoder().decode(SocketModel.Input.self, from: Data(line)))
        ?? .socket(attempt, .message(SocketMessage(text: Array(line)), SocketReading()))
      effects += model.handle(input, at: now)
      try hold(model.brokenInvariants(.thorough) == [], "a held socket keeps its invariants")
      try writesBack(effects)
    }
  }

  private static func writesBack(_ effects: [SocketModel.Effect]) throws(Broken) {
    guard let written = try? JSONEncoder().encode(effects) else {
      throw Broken("effects can be written")
    }
    let read = try? JSONDecoder().decode([SocketModel.Effect].self, from: written)
    let again = read.flatMap { try? JSONEncoder().encode($0) }
    try hold(again?.count == written.count, "effects that were written can be read")
  }
}
