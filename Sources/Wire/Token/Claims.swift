public import LinkCore
import LinkJSON

/// What a token says about its bearer.
public struct Claims: Sendable, Hashable, Codable {
  /// `sub`: 1 to 256 bytes.
  public var user: String
  /// `name`; empty when the token has none.
  public var name: String
  /// `shops`: the rooms that the bearer is a member of.
  public var shops: [ShopID]
  /// `exp`: from here on the token is worth nothing (RFC 7519 section 4.1.4).
  public var expiresAt: Timestamp
  /// `nbf`: before this time the token is worth nothing (RFC 7519 section 4.1.5).
  public var notBefore: Timestamp?

  /// Claims as they are to be signed; nothing is checked.
  public init(
    user: String, name: String, shops: [ShopID], expiresAt: Timestamp, notBefore: Timestamp? = nil
  ) {
    self.user = user
    self.name = name
    self.shops = shops
    self.expiresAt = expiresAt
    self.notBefore = notBefore
  }

  /// Returns whether the token is valid already, on a clock that may be late by `leeway`.
  public func hasBegun(by now: Timestamp, within leeway: Duration) -> Bool {
    notBefore.map { now.advanced(by: leeway) >= $0 } ?? true
  }

  /// Reads the payload of a token; other claims are ignored, of repeated ones the last counts.
  ///
  /// A time beyond the range of `Timestamp` is its end. Throws for a claim that is absent, mistyped
  /// or out of bounds.
  public static func decode(json payload: [UInt8]) throws(MessageError) -> Claims {
    let fields = try JSONReader.read(payload) { (reader) throws(JSONError) in
      var fields = ClaimsReader()
      try fields.readObject(from: &reader)
      return fields
    }
    return try fields.claims()
  }

  /// Writes the payload; `exp` in whole seconds, rounded down; `nbf` rounded up.
  public func encode() -> [UInt8] {
    var writer = JSONWriter(capacity: 256)
    writer.beginObject()
    writer.entry("sub", user)
    writer.entry("name", name)
    writer.key("shops")
    writer.beginArray()
    for shop in shops { writer.string(shop.text) }
    writer.endArray()
    writer.key("exp")
    let (seconds, rest) = expiresAt.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    writer.int(rest < 0 ? seconds - 1 : seconds)
    if let notBefore {
      // Rounded up: a token is never valid before its time.
      let (seconds, rest) = notBefore.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
      writer.entry("nbf", rest > 0 ? seconds + 1 : seconds)
    }
    writer.endObject()
    return writer.bytes
  }
}

/// What has been read of a token's payload so far.
private struct ClaimsReader {
  private var user: String?
  private var name = ""
  private var shops: [ShopID]?
  private var expiresAt: Timestamp?
  private var notBefore: Timestamp?
  private var fault: MessageError?

  func claims() throws(MessageError) -> Claims {
    if let fault { throw fault }
    guard let user, !user.isEmpty else { throw .missing(field: "sub") }
    guard user.utf8.count <= MessageReader.maxUserBytes else {
      throw .badIdentifier(field: "sub")
    }
    guard let shops else { throw .missing(field: "shops") }
    guard let expiresAt else { throw .missing(field: "exp") }
    return Claims(
      user: user, name: name, shops: shops, expiresAt: expiresAt, notBefore: notBefore)
  }

  mutating func readObject(from reader: inout JSONReader) throws(JSONError) {
    try reader.beginObject()
    while let key = try reader.nextKey() {
      switch reader.text(of: key) {
      case "sub":
        user = try reader.finds(.string, in: "sub", noting: &fault) ? reader.string() : nil
      case "name":
        name = try reader.finds(.string, in: "name", noting: &fault) ? reader.string() : ""
      case "shops":
        shops =
          try reader.finds(.array, in: "shops", noting: &fault) ? readShops(from: &reader) : nil
      case "exp":
        expiresAt =
          try reader.finds(.number, in: "exp", noting: &fault) ? Self.time(reader.double()) : nil
      case "nbf":
        notBefore =
          try reader.finds(.number, in: "nbf", noting: &fault)
          ? Self.time(reader.double().rounded(.up)) : nil
      case _: try reader.skipValue()
      }
    }
  }

  private mutating func readShops(from reader: inout JSONReader) throws(JSONError) -> [ShopID] {
    var shops: [ShopID] = []
    try reader.beginArray()
    while try reader.nextElement() {
      guard try reader.finds(.string, in: "shops", noting: &fault) else { continue }
      if let shop = ShopID(try reader.string()) {
        shops.append(shop)
      } else {
        fault.note(.badIdentifier(field: "shops"))
      }
    }
    return shops
  }

  /// Fractions of a second are dropped: a token never lives longer than it says.
  private static func time(_ seconds: Double) -> Timestamp {
    let whole = Int64(max(-9e18, min(9e18, seconds)))
    let (scaled, overflow) = whole.multipliedReportingOverflow(by: 1_000_000_000)
    return Timestamp(nanoseconds: overflow ? (whole < 0 ? .min : .max) : scaled)
  }
}
