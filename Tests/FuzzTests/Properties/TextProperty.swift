import HoldfastCore
import HoldfastJSON

@testable import HoldfastMessageData
@testable import HoldfastProtocols

/// The properties of short texts that have a format: times, identifiers, positions, paths, queries
/// and durations.
enum TextProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let kind = choices.byte()
    if kind & 7 == 0 {
      return try time(Timestamp(nanoseconds: Int64(bitPattern: choices.word())))
    }
    let text = String(decoding: choices.rest, as: UTF8.self)
    switch kind & 7 {
    case 1:
      if let found = RFC3339.parse(text) { try time(found) }
    case 2: try ids(text)
    case 3: try base64(text)
    case 4: try durations(text)
    case 5: try extensions(text)
    case _: try target(text)
    }
  }

  private static func time(_ time: Timestamp) throws(Broken) {
    try hold(RFC3339.parse(RFC3339.format(time)) == time, "a time survives its text")
  }

  private static func ids(_ text: String) throws(Broken) {
    if let id = UUID128(text) {
      try hold(id.description == text.lowercased(), "a UUID has one spelling in lower case")
    }
    if let shop = ShopID(text) {
      try hold(shop.text == text && 1...128 ~= text.utf8.count, "a shop id is unchanged")
    }
    if let position = ShopPosition(text) {
      try hold(position.description == text, "a position has one spelling")
    }
    if let route = ShopRoute(path: text) {
      try hold(route.path == text, "a route has one path")
    }
  }

  private static func base64(_ text: String) throws(Broken) {
    if let bytes = Base64URL.decode(text) {
      try hold(Base64URL.encode(bytes) == text, "base64url has one spelling")
    }
    if let bytes = Base64.decode(text) {
      try hold(Base64.encode(bytes) == text, "base64 has one spelling")
    }
    let raw = Array(text.utf8)
    try hold(Base64URL.decode(Base64URL.encode(raw)) == raw, "octets survive base64url")
    try hold(Base64.decode(Base64.encode(raw)) == raw, "octets survive base64")
  }

  private static func durations(_ text: String) throws(Broken) {
    if let duration = Duration(text: text) {
      try hold(duration >= .zero, "a duration is not negative")
      try hold(Duration(text: duration.text) == duration, "a duration survives its text")
    }
    if let schedule = Schedule(text: text) {
      try hold(isSame(Schedule(text: schedule.text), schedule), "a schedule survives its text")
    }
  }

  /// Returns whether two schedules are equal. A jitter that is not a number, which no policy may
  /// have, is not equal to itself.
  private static func isSame(_ left: Schedule?, _ right: Schedule) -> Bool {
    guard case .exponential(_, _, _, let jitter, _, _) = right, jitter.isNaN else {
      return left == right
    }
    return left?.text == right.text
  }

  private static func extensions(_ text: String) throws(Broken) {
    if let (parameters, response) = DeflateParameters.accept(offers: text) {
      try hold(
        DeflateParameters.parse(response: response) == parameters, "a response states the agreement"
      )
    }
    guard let agreed = DeflateParameters.parse(response: text) else { return }
    try hold(
      8...15 ~= agreed.serverMaxWindowBits && 8...15 ~= agreed.clientMaxWindowBits,
      "a window has 8 to 15 bits")
  }

  private static func target(_ text: String) throws(Broken) {
    guard let head = try? HTTPRequestHead(method: "GET", target: text, headers: []) else { return }
    try hold(head.segments.allSatisfy { $0 != "." && $0 != ".." }, "no path leads upward")
    let parameters = head.query.map { (name: $0.name, value: $0.value) }
    guard let query = try? PageQuery(parameters: parameters) else { return }
    try hold(
      (try? PageQuery(parameters: query.parameters)) == query, "a query survives its parameters")
  }
}
