import HoldfastCore

@testable import HoldfastSessionData

/// The properties of a session's messages in both directions.
enum SessionProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let isClient = choices.byte() % 2 == 0
    let text = Array(choices.rest)
    if isClient {
      guard let message = try? SessionClientMessage.read(text) else { return }
      try hold((try? .read(message.bytes)) == message, "a client's message can be written")
    } else {
      guard let message = try? SessionServerMessage.read(text) else { return }
      try hold((try? .read(message.bytes)) == message, "a server's message can be written")
    }
  }
}
